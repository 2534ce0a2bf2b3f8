"""The command `upgrade`: exit codes, what it cannot tell, and its lines; the transcripts have its forms."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands.upgrade import headline
from kafka_clientinfo.questions.impact import Doubts
from kafka_clientinfo.releases.broker_releases import VERDICTS
from tests.commands.fleet_on_disk import fleet, use

USES = (
    use("app", "10.0.0.9", "PRODUCE", 2, cluster="old", refused="below_range"),
    use("evil\x1b[2J\r\n\u202e", "10.0.0.9", "FETCH", 3, cluster="old", refused="below_range"),
    use("app", "10.0.0.9", "PRODUCE", 9, cluster="new"),
)
"""A cluster breaks at 4.0.1, one is fine, and c has no requests."""


@pytest.mark.parametrize(
    ("fine", "limits", "ends"),
    [
        (0, Doubts(), "0 are fine."),
        (1, Doubts(0, 1, 1), "1 is fine, as far as seen (metadata and versions only), from a host of which requests are refused already."),
        (3, Doubts(0, 1, 2), "3 are fine, 1 of them as far as seen (metadata and versions only), 2 of them from hosts of which requests are "
         "refused already."),
        (3, Doubts(1), "1 has requests that are refused already; 3 are fine."),
    ],
)  # fmt: skip
def test_the_headline_says_how_far_clients_are_fine(fine: int, limits: Doubts, ends: str) -> None:
    counts = dict.fromkeys(VERDICTS, 0) | {"accepted": fine}
    assert headline("4.0.1", counts, limits).endswith(f"cannot be judged; {ends}")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--target", "4.0.1"), 3, ""),
        (("--target", "3.9.1"), 0, ""),
        (("--target", "4.0.1", "--cluster", "new"), 0, ""),
        (("--all-targets", "--cluster", "old"), 3, ""),
        (("--target", "4.0.1", "--cluster", "nonesuch"), 2, "it has those of 'c', 'new', 'old'"),
        (("--target", "4.0.1", "--cluster", "c"), 1, "holds no requests, so that nobody can be judged"),
        ((), 2, "clientinfo: no target is given; name one with --target, or use --all-targets\n"),
        (("--all-targets", "--by", "owner"), 2, "clientinfo: --by owner needs a release; name one with --target\n"),
        (("--target", "newest"), 2, "'newest' is known here; the newest is 4.4.0, and known are 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.0.2"),
        *(((option, "x", "--target", "4.0.1"), 2, f"{option} needs --by owner")
          for option in ("--messages", "--webhook", "--template")),
        *((("--target", "4.0.1", "--by", "owner", "--messages", folder), 2, f"--messages is {folder!r}; name a folder")
          for folder in ("", " ")),
    ],
)  # fmt: skip
def test_the_code_is_the_verdict(warehouse: Path, ask: Any, arguments: tuple[str, ...], code: int, says: str) -> None:
    answer = ask("upgrade", "--warehouse", warehouse, *arguments)
    assert answer.code == code
    assert says in answer.err


def test_a_series_is_judged_by_its_newest_release_and_what_differs_is_named(warehouse: Path, ask: Any) -> None:
    sentence = (
        "Kafka 4.0 is judged as 4.0.1, its newest release that was measured. Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 "
        "takes again (KAFKA-19444): go to 4.0.1 or later."
    )
    answer, of_release = (
        ask("upgrade", "--warehouse", warehouse, "--json", "--target", one) for one in ("4.0", "4.0.1")
    )
    found, expected = answer.json, of_release.json
    assert (answer.code, answer.err) == (3, f"kafka-clientinfo: {sentence}\n")
    assert found.pop("cannot_tell") == [sentence, *expected.pop("cannot_tell")]
    assert found == expected


GROUPS: dict[str, tuple[list[dict[str, Any]], tuple[list[str], list[str]] | None]] = {
    "none": ([], ([], [])),
    "of the connection that breaks": ([use("x", "10.0.0.1", groups=["other"])], (["g"], [])),
    "of another connection at that time": ([use("app", "10.0.0.1", groups=["h"])], (["g", "h"], ["h"])),
    "at another time": ([use("app", "10.0.0.1", groups=["h"], day=1)], (["g"], [])),
    "from another host": ([use("app", "10.0.0.2", groups=["h"])], (["g"], [])),
    "of requests that do not break": ([], None),
}
"""What else is in the logs, and the groups that stand with the client app, and those of them that may be another program's."""


@pytest.mark.parametrize("name", GROUPS)
def test_the_groups_of_who_would_break_are_named(name: str, tmp_path: Path, ask: Any) -> None:
    others, groups = GROUPS[name]
    verdict = {"undecided": "negotiates_down"} if groups is None else {"refused": "below_range"}
    own = use("app", "10.0.0.1", "FETCH", 3, groups=[] if groups == ([], []) else ["g"], **verdict)
    line = ("upgrade", "--target", "4.0.1", "--warehouse", fleet(tmp_path / "w", [own, *others]))
    (row,) = ask(*line, "--json").json["rows"]
    found, possible = groups or (None, None)
    assert (row["groups"], row["possible_groups"]) == (found, possible)
    text = ask(*line).out
    assert ("Consumer groups of the clients that would break" in text) is bool(found)
    if found:
        assert f"  {', '.join(found)}" in text
