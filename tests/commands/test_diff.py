"""Two days compared: each kind of change, connections that last, what makes the exit code 3, and safe text."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import diff
from kafka_clientinfo.commands.diff import given_spans
from kafka_clientinfo.errors import ConfigError
from tests.commands.fleet_on_disk import DAY, HOSTILE, TARGET, failure, fleet, use

NOW = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)
DAYS = ("--from", "2026-11-21", "--to", "2026-11-22")
KINDS = ("new", "gone", "changed_software", "newly_unknown", "newly_breaking", "newly_refused", "more_violations")
UNKNOWN = {"client_software_name": "unknown", "client_software_version": "unknown", "reason_unknown": "not_sent"}
OLD = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
ERROR, WARNING = ("instance_id_zero", "error"), ("client_id_changed", "warning")
REFUSED = ("advertised_version_refused", "error")
STEADY = use("steady", "10.0.0.1", hours=26)
"""One connection on both days, so that each has one."""


def later(client_id: str, **given: Any) -> dict[str, Any]:
    return use(client_id, "10.0.0.9", **{"day": 1, **given})


def earlier(client_id: str, **given: Any) -> dict[str, Any]:
    return use(client_id, "10.0.0.9", **given)


CASES: Mapping[str, tuple[tuple[dict[str, Any], ...], dict[str, list[Any]], int]] = {
    "nothing changed": ((earlier("a"), later("a")), {}, 0),
    "new": ((later("a"), later("a", remote_host="10.0.0.8")), {"new": ["a"]}, 0),
    "gone": ((earlier("a"),), {"gone": ["a"]}, 0),
    "of both days": ((earlier("a", hours=30),), {}, 0),
    "over three days": ((earlier("a", day=-1, hours=50),), {}, 0),
    "ends before midnight": ((earlier("a", hours=22),), {"gone": ["a"]}, 0),
    "other software": ((earlier("a"), later("a", client_software_version="v2")), {"changed_software": ["a"]}, 0),
    "known at last": ((earlier("a", **UNKNOWN), later("a")), {"changed_software": ["a"]}, 0),
    "unknown": ((earlier("a"), later("a", **UNKNOWN)), {"newly_unknown": ["a"]}, 0),
    "unknown beside": ((earlier("a"), later("a"), later("a", **UNKNOWN)), {"newly_unknown": ["a"]}, 0),
    "unknown as before": ((earlier("a", **UNKNOWN), later("a", **UNKNOWN)), {}, 0),
    "another principal": ((earlier("a"), later("a", principal=None)), {"new": ["a"], "gone": ["a"]}, 0),
    "breaks": ((earlier("a"), later("a", **OLD)), {"newly_breaking": ["a"]}, 3),
    "breaks as before, with other software": (
        (earlier("a", **OLD), later("a", client_software_version="v2", **OLD)), {"changed_software": ["a"]}, 0,
    ),
    "breaks no more": ((earlier("a", **OLD), later("a")), {}, 0),
    "new and breaks": ((later("a", **OLD),), {"new": ["a"], "newly_breaking": ["a"]}, 3),
    "an error": ((earlier("a"), later("a", violations=[ERROR])), {"more_violations": ["a"]}, 3),
    "a warning": ((earlier("a"), later("a", violations=[WARNING])), {"more_violations": ["a"]}, 0),
    "an error more": (
        (earlier("a", violations=[ERROR]), later("a", violations=[ERROR]), later("a", violations=[ERROR])),
        {"more_violations": ["a"]}, 0,
    ),
    "a broker's error": ((earlier("a"), later("a", violations=[REFUSED])), {"more_violations": ["a"]}, 0),
    "an error as before": ((earlier("a", violations=[ERROR]), later("a", violations=[ERROR])), {}, 0),
    "fewer errors": ((earlier("a", violations=[ERROR, WARNING]), later("a")), {}, 0),
    "brokers": ((later("a", role="broker", violations=[WARNING]),), {"more_violations": ["a"]}, 0),
    "by severity, number and text": (
        (*(later(name, violations=[WARNING]) for name in "zzba"), later("x", violations=[ERROR])),
        {"new": [*"zabx"], "more_violations": [*"xzab"]}, 3,
    ),
}  # fmt: skip
OF_APP, OF_NOBODY = "10.78.0.2:9092-10.0.0.1:40000-7", "10.78.0.2:9092-10.0.0.8:40001-8"
NIGHT, ENDED = (DAY + timedelta(hours=hours, minutes=5) for hours in (2, 27))
REFUSALS = {
    "refused": [failure(OF_APP, "10.0.0.1", ENDED), failure(OF_NOBODY, "10.0.0.8", ENDED + timedelta(seconds=1))],
    "as before": [failure(OF_NOBODY, "10.0.0.8", at) for at in (NIGHT, ENDED)],
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster for each case."""
    uses = {name: (STEADY, *its) for name, (its, *_) in CASES.items()}
    uses["software"] = (STEADY, *(later("x", client_software_name=name, **OLD) for name in "bbfedca"))
    uses |= dict.fromkeys(REFUSALS, (use("app", "10.0.0.1", hours=26, connection_id=OF_APP),))
    failures = [row | {"cluster": name, "file_id": name} for name, rows in REFUSALS.items() for row in rows]
    every = [one | {"cluster": name} for name, its in uses.items() for one in its]
    return fleet(tmp_path_factory.mktemp("cases") / "w", every, failures=failures)


@pytest.mark.parametrize("case", CASES)
def test_what_changed(cases: Path, ask: Any, case: str) -> None:
    _, changed, code = CASES[case]
    answer = ask("diff", *DAYS, "--warehouse", cases, "--cluster", case, "--target", TARGET, "--json")
    found = answer.json
    assert (answer.code, found["from"], found["to"], found["target"]) == (code, "2026-11-21", "2026-11-22", TARGET)
    assert {kind: [row["client_id"] for row in found[kind]] for kind in KINDS if found[kind]} == changed


def test_the_most_frequent_software_of_a_client_stands_for_its_use(cases: Path, ask: Any) -> None:
    found = ask("diff", *DAYS, "--warehouse", cases, "--cluster", "software", "--target", TARGET, "--json").json
    assert [(row["software"], row["connections"]) for row in found["newly_breaking"]] == [("b v1.0", 2)]
    assert [row["software"] for row in found["new"]] == [[f"{name} v1.0" for name in "abcdef"]]


def test_what_brokers_newly_refuse_is_no_all_clear(cases: Path, ask: Any) -> None:
    """A client that is refused may send other requests as before, and a request of an unknown client is somebody's."""
    line = ("diff", *DAYS, "--warehouse", cases, "--json", "--cluster")
    assert ask(*line, "as before").code == 0
    columns = ("client_id", "is_known", "host", "requests")
    for more, rows in (((), [(None, False, "10.0.0.8", 1)]), (("--client", "app"), [])):
        answer = ask(*line, "refused", *more)
        found = [tuple(row[name] for name in columns) for row in answer.json["newly_refused"]]
        assert (answer.code, found) == (3, [*rows, ("app", True, "10.0.0.1", 1)])


USES = (
    STEADY, earlier("plain"), later("plain", client_software_version=HOSTILE), later(HOSTILE, violations=[ERROR], **OLD),
    later("=1+1", principal="User:b", cluster="d"), earlier("=1+1 gone"), earlier("u"), later("u", **UNKNOWN),
    later("u", **UNKNOWN), STEADY | {"cluster": "d"}, earlier("p", cluster="first day"), later("p", cluster="second day"),
    earlier("p", cluster="both days", hours=24),
)  # fmt: skip


@pytest.mark.parametrize("form", ["--markdown", "--csv", None])
def test_no_text_is_markup_and_what_is_not_compared_is_named(warehouse: Path, ask: Any, form: str | None) -> None:
    answer = ask("diff", *DAYS, "--warehouse", warehouse, "--target", TARGET, *filter(None, [form]))
    assert answer.code == 3
    if form == "--csv":
        assert ",'=1+1," in answer.out
        assert "\n=1+1" not in answer.out
        return
    assert "\u202e" not in answer.out
    assert ("<script>" in answer.out) == (form is None)
    for title in ("New clients", "Clients that are gone", "Clients that would newly break", "More violations"):
        assert title in answer.out
    if form is None:
        for note in (
            "The first request is of 2026-11-21 01:00 UTC", "The last request is of 2026-11-22 03:01 UTC",
            "\nfirst day: no request of 2026-11-22 in the logs, not compared.\n",
            "\nsecond day: no request of 2026-11-21 in the logs, not compared.\n",
        ):  # fmt: skip
            assert note in answer.out
        assert answer.out.count("not compared") == 2
        assert "User:ANONYMOUS  p " not in answer.out


@pytest.mark.parametrize(
    ("lacks", "titles"),
    [
        ("21", ["Clients that were not seen before; the logs do not hold all of the earlier day", "Clients that are gone"]),
        ("22", ["New clients", "Clients that were not seen; the logs do not hold all of the later day"]),
    ],
)  # fmt: skip
def test_silence_on_a_day_that_the_logs_do_not_hold_says_nothing(
    warehouse: Path, ask: Any, monkeypatch: pytest.MonkeyPatch, lacks: str, titles: list[str]
) -> None:
    monkeypatch.setattr(diff, "_is_covered", lambda _, span, clusters: not span.name.endswith(lacks))
    line = ("diff", *DAYS, "--warehouse", warehouse, "--cluster", "c")
    answer = ask(*line, "--target", TARGET)
    assert all(title in answer.out for title in titles)
    assert ("newly break; the logs do not hold all of the earlier day" in answer.out) == (lacks == "21")
    answer = ask(*line, "--client", "nobody")
    assert (answer.code, answer.out.splitlines()[0]) == (
        0, "Nothing changed from 2026-11-21 to 2026-11-22, as far as the logs show: they do not hold every request of both.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "day"),
    [("2026-11-21", 21), ("today", 22), ("yesterday", 21), ("0d", 22), ("7d", 15), ("1w", 15), ("20261121", 21)],
)
def test_days_are_in_utc(text: str, day: int) -> None:
    begin = datetime.combine(date(2026, 11, day), time(), UTC)
    for spans in (given_spans("2026-11-01", text, NOW), given_spans(text, "2026-12-01", NOW)):
        assert (begin, begin + timedelta(days=1), str(begin.date())) in spans


@pytest.mark.parametrize(
    ("earlier", "later", "hours", "names"),
    [
        ("2026-11-21T13:00Z", "2026-11-21T14:00Z", 1, ["2026-11-21T13:00:00.000Z", "2026-11-21T14:00:00.000Z"]),
        ("2026-11-20T14:00:30+02:00", "2026-11-21T14:00:30+01:00", 24, ["2026-11-20T12:00:30.000Z", "2026-11-21T13:00:30.000Z"]),
        ("2026-11-21", "2026-11-21T14:00Z", 14, ["2026-11-21", "2026-11-21T14:00:00.000Z"]),
        ("2026-11-21T13:00", "2026-11-21 14:00", 1, ["2026-11-21T13:00:00.000Z", "2026-11-21T14:00:00.000Z"]),
        ("12h", "30m", 11.5, ["2026-11-21T12:30:00.000Z", "2026-11-22T00:00:00.000Z"]),
    ],
)  # fmt: skip
def test_a_time_stands_for_the_hours_from_it_on(earlier: str, later: str, hours: int, names: list[str]) -> None:
    spans = given_spans(earlier, later, NOW)
    assert [span.end - span.begin for span in spans] == [timedelta(hours=hours)] * 2
    assert [span.name for span in spans] == names


def test_the_hour_before_a_change_is_compared_with_the_hour_after_it(warehouse: Path, ask: Any) -> None:
    line = ("diff", "--warehouse", warehouse, "--json")
    found = ask(*line, *DAYS).json
    in_hours = ask(*line, "--from", "2026-11-21T01:00Z", "--to", "2026-11-22T03:00+02:00").json
    assert (in_hours["from"], in_hours["to"]) == ("2026-11-21T01:00:00.000Z", "2026-11-22T01:00:00.000Z")
    assert {kind: in_hours[kind] for kind in KINDS} == {kind: found[kind] for kind in KINDS}


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-1d", "999999d", "2026-11-31", "9999-12-31", "2026-11-21T25:00Z", "2026-11-21T02:00+99:00", "9999-12-31T23:00Z"],
)  # fmt: skip
def test_a_day_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--to is .*; give (a time: ISO 8601 in UTC such as 2026-11-21|an earlier)"):
        given_spans("2026-11-01", text, NOW)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--from", "2026-11-22", "--to", "2026-11-22"], 2, "--from is 2026-11-22 and --to 2026-11-22; give an earlier day"),
        (["--from", "2026-11-23", "--to", "2026-11-22"], 2, "give an earlier day with --from"),
        ([*DAYS, "--target", "5.0"], 2, "is known here; the newest is 4.4.0"),
        (["--from", "x", "--to", "2026-11-22"], 2, "--from is 'x'"),
        (["--from", "2026-11-20", "--to", "2026-11-21"], 1, "no connection on 2026-11-20; it has those of 2026-11-21 to 2026-11-22"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(warehouse: Path, ask: Any, arguments: list[str], code: int, says: str) -> None:
    answer = ask("diff", *arguments, "--warehouse", warehouse)
    assert answer.code == code
    assert says in answer.err
