"""The command `activity`: its forms, its columns on narrow and wide terminals, owners, notes, and `scan --activity`."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.questions.activity import BY, TOP
from tests.builders import json_record
from tests.commands.fleet_on_disk import HOSTILE, fleet, use
from tests.commands.transcripts import GOLDEN, ROOT
from tests.questions.activity_on_disk import activity, sent

OWNERS = """
[[owners]]
owner = "Payments"
contact = "pay@example.org"
hosts = ["10.1.0.0/16"]
[[owners]]
owner = "<script>Search"
client_ids = ['s.*']
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clients of two owners, one of both, one of none, and one with a hostile id."""
    uses = (
        use("pay", "10.1.0.1", requests=40),
        use("search", "10.2.0.1", "FETCH", requests=30),
        use("search", "10.1.0.2", "FETCH", requests=20),
        use("other", "10.2.0.1", requests=10),
        use(HOSTILE, "10.2.0.1", requests=5, principal=None),
        use("pay", "10.1.0.1", requests=1),  # the sixth gets errors
    )
    return fleet(tmp_path_factory.mktemp("activity") / "w", uses)


@pytest.fixture
def answer(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("TERM", "xterm")
    capsys.readouterr()

    def ask(*words: str) -> str:
        assert cli.main(["activity", *words, "--warehouse", str(root)]) == 0
        return capsys.readouterr().out

    return ask


def test_json_has_every_row_and_figure(answer: Any) -> None:
    rows = json.loads(answer("--json"))
    assert [(row["client_id"], row["requests"], row["connections_opened"]) for row in rows] == [
        ("search", 50, 2), ("pay", 41, 2), ("other", 10, 1), (HOSTILE, 5, 1),
    ]  # fmt: skip
    assert list(rows[0]) == [
        "cluster", "principal", "client_id", "requests", "connections_opened", "errors", "p50_ms", "p99_ms", "max_ms",
        "mean_ms", "throttled", "throttle_ms", "first_bucket", "last_bucket",
    ]  # fmt: skip
    assert rows[0]["first_bucket"] == "2026-11-21T01:00:00.000Z"


@pytest.mark.parametrize("by", [by for by in BY if by != "owner"])
@pytest.mark.parametrize("top", TOP)
def test_csv_has_the_rows_of_json(answer: Any, by: str, top: str) -> None:
    words = ("--by", by, "--top", top)
    rows = list(csv.DictReader(io.StringIO(answer(*words, "--csv"))))
    assert [row["requests"] for row in rows] == [str(row["requests"]) for row in json.loads(answer(*words, "--json"))]


def test_text_has_a_line_over_time_and_says_what_it_is(answer: Any) -> None:
    text = answer("--limit", "2")
    header, first, second, more, *_ = text.splitlines()
    assert header.split("  ")[-1] == "over time"
    assert (first.split()[2], first[-1], second.split()[2], second[-1]) == ("search", "█", "pay", "█")
    assert more == "… and 2 more rows; --limit 0, --json and --csv have all"
    assert "Over time: requests; a character is 1 minute, from 2026-11-21 01:00 to 2026-11-21 01:01 UTC" in text
    assert "the true value is more than 1/1.8 of it." in text


def test_the_documentation_shows_what_the_command_prints() -> None:
    golden = (GOLDEN / "activity_limited.txt").read_text("utf-8").removeprefix("exit code 0\n").rstrip()
    assert f"```text\n{golden}\n```" in (ROOT / "docs" / "howto" / "activity.md").read_text("utf-8")


def test_text_on_a_terminal_of_few_characters_is_ascii(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    assert answer("--principal", "User:*").isascii()


@pytest.mark.parametrize(
    ("width", "words", "missing"),
    [
        (None, (), set()),
        (200, (), set()),
        (120, (), {"max ms", "throttled"}),
        (80, (), {"max ms", "throttled", "p50 ms", "throttle ms"}),
        (80, ("--top", "throttle"), {"max ms", "p50 ms", "opened", "errors"}),
    ],
)
def test_columns_fit_on_the_terminal(
    answer: Any, monkeypatch: pytest.MonkeyPatch, width: int | None, words: tuple[str, ...], missing: set[str]
) -> None:
    monkeypatch.setattr(text_tables, "terminal_width", lambda: width)
    text = answer("--cluster", "c", "--client", "*", *words)
    figures = ("requests", "opened", "errors", "p50 ms", "p99 ms", "max ms", "throttled", "throttle ms")
    header = next(line for line in text.splitlines() if "requests" in line)
    assert {name for name in figures if name not in header} == missing
    assert ("On a wider terminal there are more columns" in text) == bool(missing)
    assert width is None or max(map(len, text.splitlines())) <= width


def test_the_slowest_say_which_requests_do_not_count(answer: Any) -> None:
    left_out = "They leave out requests of brokers"
    assert left_out not in answer()
    assert f"{left_out}, and those that wait for others: FETCH, SHARE_FETCH, JOIN_GROUP, SYNC_GROUP." in " ".join(
        answer("--top", "p99").split()
    )
    assert f"{left_out}." in answer("--top", "p99", "--by", "api")


def test_a_client_counts_for_each_of_its_owners(answer: Any, tmp_path: Path) -> None:
    owners = tmp_path / "owners.toml"
    owners.write_text(OWNERS)
    given = ("--owners", str(owners))
    rows = json.loads(answer("--by", "owner", *given, "--json"))
    assert [(row["owner"], row["contact"], row["requests"]) for row in rows] == [
        ("Payments", "pay@example.org", 91),
        ("<script>Search", None, 50),
        (None, None, 15),
    ]
    text = answer("--by", "owner", *given)
    assert "no owner" in text
    assert "1 client has several owners and counts for each of them." in text
    by_client = {row["client_id"]: row["owners"] for row in json.loads(answer(*given, "--json"))}
    assert by_client == {"pay": ["Payments"], "search": ["<script>Search", "Payments"], "other": [], HOSTILE: []}
    assert "&lt;script&gt;Search" in answer(*given, "--markdown")


def test_owners_need_a_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["activity", "--by", "owner", "--warehouse", str(root)]) == 2
    assert "--by owner needs owners" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--client", "nobody"), "No request fits --client nobody; the warehouse has the client ids "),
        (("--since", "2100-01-01"), "No request fits --since 2100-01-01; the warehouse has connections from "),
        (("--client", "other", "--top", "errors"), "No response has an error code."),
    ],
)
def test_an_empty_answer_says_why(answer: Any, words: tuple[str, ...], says: str) -> None:
    assert says in answer(*words)
    assert json.loads(answer(*words, "--json")) == []


def test_whole_buckets_are_named(answer: Any) -> None:
    assert "whole buckets of 60 minutes: from 2026-11-21 01:00 UTC" in answer("--since", "2026-11-21T01:30")
    assert "whole buckets" not in answer("--since", "2026-11-21T01:00")


@pytest.mark.parametrize(("built_with", "setting", "rows"), [(60, 30, 1), (30, 60, 0)])
def test_the_length_of_a_bucket_is_that_of_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], built_with: int, setting: int, rows: int
) -> None:
    root, conf = activity(tmp_path / "w", [sent(1.0)], built_with), tmp_path / "conf.toml"
    conf.write_text(f"bucket_minutes = {setting}\n")
    words = ["activity", "--warehouse", str(root), "--json", "--since", "2026-11-21T02:30", "--conf", str(conf)]
    assert cli.main(words) == 0
    assert len(json.loads(capsys.readouterr().out)) == rows


HOSTILE_IDS = ("\x1b[2J", "'; DROP TABLE client_activity; --", "a\nb", "\u202e", "{x}", "=1+1", "%s", "$since")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "b1" / "kafka-request.log"
    path.parent.mkdir()
    path.write_bytes(
        b"".join(
            json_record(at=60.0 * number, client_id=client_id, correlation_id=number)
            for number, client_id in enumerate(HOSTILE_IDS)
        )
    )
    return path


@pytest.mark.parametrize("by", ["client", "api"])
def test_scan_answers_the_same(log: Path, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scan", str(log), "--activity", by, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["activity"]
    assert sum(row["requests"] for row in rows) == len(HOSTILE_IDS)
    assert len(rows) == (len(HOSTILE_IDS) if by == "client" else 1)


def test_scan_has_no_activity_unless_asked(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scan", str(log), "--json"]) == 0
    assert "activity" not in json.loads(capsys.readouterr().out)
    assert cli.main(["scan", str(log), "--top", "p99"]) == 2
    assert "--top is for --activity" in capsys.readouterr().err


def test_hostile_names_have_no_effect(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scan", str(log), "--activity", "client"]) == 0
    text = capsys.readouterr().out
    assert "Activity by client, the most requests first" in text
    assert "Over time: requests; a character is 1 minute" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert cli.main(["scan", str(log), "--activity", "client", "--top", "errors"]) == 0
    assert "No response" in capsys.readouterr().out
