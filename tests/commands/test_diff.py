"""Two days compared: each kind of change, connections that last, what makes the exit code 3, and safe text."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import diff
from kafka_clientinfo.commands.diff import given_spans
from kafka_clientinfo.errors import ConfigError
from tests.commands.fleet_on_disk import DAY, HOSTILE, TARGET, failure, fleet, use

NOW = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)
DAYS = ["--from", "2026-11-21", "--to", "2026-11-22"]
KINDS = ("new", "gone", "changed_software", "newly_unknown", "newly_breaking", "newly_refused", "more_violations")
UNKNOWN = {"client_software_name": "unknown", "client_software_version": "unknown", "reason_unknown": "not_sent"}
OLD = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
ERROR, WARNING = ("instance_id_zero", "error"), ("client_id_changed", "warning")
STEADY = (use("steady", "10.0.0.1", hours=26),)
"""One connection on both days, so that each has one."""


def later(client_id: str, **given: Any) -> dict[str, Any]:
    return use(client_id, "10.0.0.9", **{"day": 1, **given})


def earlier(client_id: str, **given: Any) -> dict[str, Any]:
    return use(client_id, "10.0.0.9", **given)


CASES: Mapping[str, tuple[tuple[dict[str, Any], ...], dict[str, list[Any]], int]] = {
    "nothing changed": ((earlier("a"), later("a")), {}, 0),
    "new": ((later("a"), later("a", remote_host="10.0.0.8")), {"new": ["a"]}, 0),
    "gone": ((earlier("a"),), {"gone": ["a"]}, 0),
    "a connection of both days": ((earlier("a", hours=30),), {}, 0),
    "a connection over three days": ((earlier("a", day=-1, hours=50),), {}, 0),
    "a connection that ends before midnight": ((earlier("a", hours=22),), {"gone": ["a"]}, 0),
    "other software": (
        (earlier("a"), later("a", client_software_version="v2")), {"changed_software": ["a"]}, 0,
    ),
    "known at last": ((earlier("a", **UNKNOWN), later("a")), {"changed_software": ["a"]}, 0),
    "unknown": ((earlier("a"), later("a", **UNKNOWN)), {"newly_unknown": ["a"]}, 0),
    "unknown beside": ((earlier("a"), later("a"), later("a", **UNKNOWN)), {"newly_unknown": ["a"]}, 0),
    "unknown as before": ((earlier("a", **UNKNOWN), later("a", **UNKNOWN)), {}, 0),
    "another principal": ((earlier("a"), later("a", principal=None)), {"new": ["a"], "gone": ["a"]}, 0),
    "breaks": ((earlier("a"), later("a", **OLD)), {"newly_breaking": ["a"]}, 3),
    "breaks as before": ((earlier("a", **OLD), later("a", **OLD)), {}, 0),
    "breaks as before with other software": (
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
    "a broker's error": (
        (earlier("a"), later("a", violations=[("advertised_version_refused", "error")])), {"more_violations": ["a"]}, 0,
    ),
    "an error as before": ((earlier("a", violations=[ERROR]), later("a", violations=[ERROR])), {}, 0),
    "fewer errors": ((earlier("a", violations=[ERROR, WARNING]), later("a")), {}, 0),
    "brokers": ((later("a", role="broker", violations=[WARNING]),), {"more_violations": ["a"]}, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    uses, changed, code = CASES[case]
    root = fleet(tmp_path / "w", [*STEADY, *uses])
    assert cli.main(["diff", *DAYS, "--warehouse", str(root), "--target", TARGET, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["from"], found["to"], found["target"]) == ("2026-11-21", "2026-11-22", TARGET)
    assert {kind: [row["client_id"] for row in found[kind]] for kind in KINDS if found[kind]} == changed


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    uses = [
        earlier("plain"), later("plain", client_software_version=HOSTILE), later(HOSTILE, violations=[ERROR], **OLD),
        later("=1+1", principal="User:b", cluster="d"), earlier("=1+1 gone"), earlier("u"), later("u", **UNKNOWN),
        later("u", **UNKNOWN), use("steady", "10.0.0.1", cluster="d", hours=26),
    ]  # fmt: skip
    return fleet(tmp_path_factory.mktemp("diff") / "w", [*STEADY, *uses])


def asked(capsys: pytest.CaptureFixture[str], warehouse: Path, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.main(["diff", *DAYS, "--warehouse", str(warehouse), "--json", *arguments]) in (0, 3)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("arguments", "new"),
    [
        ([], [HOSTILE, "=1+1"]),
        (["--principal", "User:b"], ["=1+1"]),
        (["--client", "*DROP*"], [HOSTILE]),
        (["--cluster", "c"], [HOSTILE]),
        (["--client", HOSTILE], [HOSTILE]),
        (["--client", "nobody"], []),
    ],
)
def test_filters_choose_clients(
    warehouse: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], new: list[str]
) -> None:
    found = asked(capsys, warehouse, "--target", TARGET, *arguments)
    assert [row["client_id"] for row in found["new"]] == new
    assert len(found["more_violations"]) == (HOSTILE in new)


@pytest.mark.parametrize(
    ("pays", "notes"),
    [
        ({"day": 0}, ["pay: no request of 2026-11-22 in the logs, not compared."]),
        ({"day": 1}, ["pay: no request of 2026-11-21 in the logs, not compared."]),
        ({"day": 0, "hours": 24}, []),
    ],
    ids=["earlier", "later", "both"],
)
def test_a_cluster_without_a_log_of_a_day_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pays: dict[str, int], notes: list[str]
) -> None:
    uses = [*STEADY, use("a", "10.0.0.9"), use("p", "10.0.0.7", cluster="pay", **pays)]
    assert cli.main(["diff", *DAYS, "--warehouse", str(fleet(tmp_path / "w", uses))]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if "not compared" in line] == notes
    assert "Clients that are gone\n" in text
    assert "User:ANONYMOUS  p " not in text


def test_rows_come_by_severity_number_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = (later("z", violations=[WARNING]), later("z", violations=[WARNING]))
    once = (later(name, violations=[WARNING]) for name in "ba")
    root = fleet(tmp_path / "w", [*STEADY, *twice, *once, later("x", violations=[ERROR])])
    found = asked(capsys, root)
    assert [row["client_id"] for row in found["new"]] == ["z", "a", "b", "x"]
    assert [row["client_id"] for row in found["more_violations"]] == ["x", "z", "a", "b"]


def test_the_most_frequent_software_of_a_client_stands_for_its_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "bbfedca"
    root = fleet(tmp_path / "w", [*STEADY, *(later("x", client_software_name=name, **OLD) for name in names)])
    found = asked(capsys, root, "--target", TARGET)
    assert [(row["software"], row["connections"]) for row in found["newly_breaking"]] == [("b v1.0", 2)]
    assert [row["software"] for row in found["new"]] == [[f"{name} v1.0" for name in "abcdef"]]


@pytest.mark.parametrize("form", ["--markdown", "--csv", None])
def test_no_text_is_markup_or_a_formula(warehouse: Path, capsys: pytest.CaptureFixture[str], form: str | None) -> None:
    arguments = ["diff", *DAYS, "--warehouse", str(warehouse), "--target", TARGET]
    assert cli.main([*arguments, *([form] if form else [])]) == 3
    text = capsys.readouterr().out
    if form == "--csv":
        assert ",'=1+1," in text
        assert "\n=1+1" not in text
        return
    assert "\u202e" not in text
    assert ("<script>" in text) == (form is None)
    for title in ("New clients", "Clients that are gone", "Clients that would newly break", "More violations"):
        assert title in text
    if form is None:
        assert "The first request is of 2026-11-21 01:00 UTC" in text
        assert "The last request is of 2026-11-22 03:01 UTC" in text


def test_that_nothing_changed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = fleet(tmp_path / "w", STEADY)
    assert cli.main(["diff", *DAYS, "--warehouse", str(root)]) == 0
    assert capsys.readouterr().out.strip().startswith("Nothing changed from 2026-11-21 to 2026-11-22.")


def test_a_day_without_connections_names_those_with_some(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = ["--from", "2026-11-20", "--to", "2026-11-21"]
    assert cli.main(["diff", *days, "--warehouse", str(warehouse)]) == 1
    assert "has no connection on 2026-11-20; it has those of 2026-11-21 to 2026-11-22" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-21", date(2026, 11, 21)),
        ("today", date(2026, 11, 22)),
        ("yesterday", date(2026, 11, 21)),
        ("0d", date(2026, 11, 22)),
        ("7d", date(2026, 11, 15)),
    ],
)
def test_days_are_in_utc(text: str, day: date) -> None:
    begin = datetime.combine(day, time(), UTC)
    for spans in (given_spans("2026-11-01", text, NOW), given_spans(text, "2026-12-01", NOW)):
        assert (begin, begin + timedelta(days=1), str(day)) in spans


@pytest.mark.parametrize(
    ("earlier", "later", "hours", "names"),
    [
        ("2026-11-21T13:00Z", "2026-11-21T14:00Z", 1, ["2026-11-21T13:00:00.000Z", "2026-11-21T14:00:00.000Z"]),
        ("2026-11-20T14:00:30+02:00", "2026-11-21T14:00:30+01:00", 24, ["2026-11-20T12:00:30.000Z", "2026-11-21T13:00:30.000Z"]),
        ("2026-11-21", "2026-11-21T14:00Z", 14, ["2026-11-21", "2026-11-21T14:00:00.000Z"]),
    ],
)  # fmt: skip
def test_a_time_stands_for_the_hours_from_it_on(earlier: str, later: str, hours: int, names: list[str]) -> None:
    spans = given_spans(earlier, later, NOW)
    assert [span.end - span.begin for span in spans] == [timedelta(hours=hours)] * 2
    assert [span.name for span in spans] == names


@pytest.mark.parametrize(
    "text",
    ["", "soon", "7h", "-1d", "999999d", "2026-11-31", "20261121", "2026-11-21T02:00", "9999-12-31", "2026-11-21T25:00Z",
     "2026-11-21T02:00+99:00", "9999-12-31T23:00Z", "2026-11-21 02:00Z"],
)  # fmt: skip
def test_a_day_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--to is .*; give a date in UTC such as 2026-11-21, yesterday, today, 7d"):
        given_spans("2026-11-01", text, NOW)


def test_the_hour_before_a_change_is_compared_with_the_hour_after_it(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, warehouse)
    times = ["--from", "2026-11-21T01:00Z", "--to", "2026-11-22T03:00+02:00"]
    assert cli.main(["diff", *times, "--warehouse", str(warehouse), "--json"]) == 3
    in_hours = json.loads(capsys.readouterr().out)
    assert (in_hours["from"], in_hours["to"]) == ("2026-11-21T01:00:00.000Z", "2026-11-22T01:00:00.000Z")
    assert {kind: in_hours[kind] for kind in KINDS} == {kind: found[kind] for kind in KINDS}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--from", "2026-11-22", "--to", "2026-11-22"],
            "--from is 2026-11-22 and --to 2026-11-22; give an earlier day",
        ),
        (["--from", "2026-11-23", "--to", "2026-11-22"], "give an earlier day with --from"),
        ([*DAYS, "--target", "5.0"], "is known here; the newest is 4.4.0"),
        (["--from", "x", "--to", "2026-11-22"], "--from is 'x'"),
    ],
)
def test_wrong_arguments_are_named(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    assert cli.main(["diff", *arguments, "--warehouse", "/nowhere"]) == 2
    assert says in capsys.readouterr().err


def test_what_brokers_newly_refuse_is_no_all_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A client that is refused may send other requests as before, and a request of an unknown client is somebody's."""
    of_app, of_nobody = "10.78.0.2:9092-10.0.0.1:40000-7", "10.78.0.2:9092-10.0.0.8:40001-8"
    app = use("app", "10.0.0.1", hours=26, connection_id=of_app)
    ended, night = DAY + timedelta(hours=27, minutes=2), DAY + timedelta(hours=2)
    known, unknown = failure(of_app, "10.0.0.1", ended), failure(of_nobody, "10.0.0.8", ended + timedelta(seconds=1))
    root = fleet(tmp_path / "w", [app], failures=[known, unknown])
    assert cli.main(["diff", *DAYS, "--warehouse", str(root), "--json"]) == 3
    rows = json.loads(capsys.readouterr().out)["newly_refused"]
    assert [(row["client_id"], row["is_known"], row["host"], row["requests"]) for row in rows] == [
        (None, False, "10.0.0.8", 1), ("app", True, "10.0.0.1", 1)
    ]  # fmt: skip
    assert cli.main(["diff", *DAYS, "--warehouse", str(root), "--client", "app", "--json"]) == 3
    assert [row["client_id"] for row in json.loads(capsys.readouterr().out)["newly_refused"]] == ["app"]
    as_before = fleet(tmp_path / "b", [app], failures=[unknown, failure(of_nobody, "10.0.0.8", night)])
    assert cli.main(["diff", *DAYS, "--warehouse", str(as_before)]) == 0


@pytest.mark.parametrize(
    ("lacks", "titles"),
    [
        (
            "2026-11-21",
            ["Clients that were not seen before; the logs do not hold all of the earlier day", "Clients that are gone"],
        ),
        ("2026-11-22", ["New clients", "Clients that were not seen; the logs do not hold all of the later day"]),
    ],
)
def test_silence_on_a_day_that_the_logs_do_not_hold_says_nothing(
    warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lacks: str, titles: list[str]
) -> None:
    monkeypatch.setattr(diff, "_is_covered", lambda _, span, clusters: span.name != lacks)
    assert cli.main(["diff", *DAYS, "--warehouse", str(warehouse), "--target", TARGET]) == 3
    text = capsys.readouterr().out
    assert all(title in text for title in titles)
    assert ("newly break; the logs do not hold all of the earlier day" in text) == (lacks == "2026-11-21")
    assert cli.main(["diff", *DAYS, "--warehouse", str(warehouse), "--client", "nobody"]) == 0
    assert capsys.readouterr().out.startswith(
        "Nothing changed from 2026-11-21 to 2026-11-22, as far as the logs show: they do not hold every request of both.\n"
    )
