"""The command `violations`: what is chosen, in what order, and safe to print."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from tests.frames import at
from tests.report.tables_on_disk import write_warehouse


def row(rule: str, severity: str, seconds: float, **given: Any) -> dict[str, Any]:
    known = {
        "rule": rule,
        "cluster": "c",
        "broker": "b",
        "connection_id": "1.2.3.4:1-5.6.7.8:2-3",
        "opened_at": at(0),
        "opened_seq": 0,
        "severity": severity,
        "blames": "client",
        "occurrences": 2,
        "first_at": at(0),
        "last_at": at(seconds),
        "example": (at(0), 7, "^x"),
        "message": "client id 'x\x1b[2J'; asked",
    }
    return known | given


ROWS = [
    row("client_id_changed", "warning", 10),
    row("instance_id_zero", "error", 5),
    row("instance_id_zero", "error", 20, opened_seq=1, rejected=1, taken=0),
    row(
        "mixed_protocol_types", "warning", 30,
        broker=None, connection_id=None, opened_at=None, opened_seq=None, group_id="g\n", cluster="d",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    files = [{"file_id": name, "cluster": name, "ingested_at": at(9)} for name in ("c", "d")]
    tables = {"violations": ROWS, "ingested_files": files}
    return str(write_warehouse(tmp_path_factory.mktemp("listing") / "w", tables, at(9)))


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        ([], ["instance_id_zero", "instance_id_zero", "mixed_protocol_types", "client_id_changed"]),
        (["--severity", "error"], ["instance_id_zero", "instance_id_zero"]),
        (["--severity", "warning", "--rule", "client_id_changed"], ["client_id_changed"]),
        (["--severity", "error", "--rule", "client_id_changed"], []),
        (["--rule", "client_id_changed"], ["client_id_changed"]),
        (
            ["--rule", "client_id_changed", "--rule", "mixed_protocol_types"],
            ["mixed_protocol_types", "client_id_changed"],
        ),
        (["--since", "2026-11-21T02:00:20Z"], ["instance_id_zero", "mixed_protocol_types"]),
        (["--since", "2026-11-21T03:00:30+01:00"], ["mixed_protocol_types"]),
        (["--since", "2026-11-22"], []),
        (["--until", "2026-11-21T02:00:00"], []),
        (["--cluster", "d"], ["mixed_protocol_types"]),
    ],
)
def test_it_lists_what_is_asked_for(
    warehouse: str, capsys: pytest.CaptureFixture[str], arguments: list[str], rules: list[str]
) -> None:
    assert cli.main(["violations", "--warehouse", warehouse, "--each", "--json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [violation["rule"] for violation in found["violations"]] == rules
    assert found["total"] == found["total_violations"] == len(rules)


def test_a_row_is_a_rule_client_and_host_with_its_latest_violation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both numbers are in JSON: that of the rows, and that of the violations that they sum up."""
    one = {"client_id": "one", "remote_host": "h"}
    rows = [
        row("client_id_changed", "warning", 10, **one, connection_id="first", rejected=1, taken=1),
        row("client_id_changed", "warning", 30, **one, connection_id="last", message="latest"),
        row("client_id_changed", "warning", 20, **one, connection_id="middle", rejected=2, taken=0),
        row("client_id_changed", "warning", 40, **one | {"remote_host": "elsewhere"}, connection_id="other host"),
        row("mixed_protocol_types", "warning", 40, broker=None, connection_id=None, opened_at=None, opened_seq=None, group_id="a"),
        row("mixed_protocol_types", "warning", 50, broker=None, connection_id=None, opened_at=None, opened_seq=None, group_id="b"),
    ]  # fmt: skip
    files = [{"file_id": "c", "cluster": "c", "ingested_at": at(9)}]
    root = str(write_warehouse(tmp_path / "w", {"violations": rows, "ingested_files": files}, at(9)))
    assert cli.main(["violations", "--warehouse", root, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["total"], answer["total_violations"]) == (4, 6)
    first, *others = answer["violations"]
    assert {name: first[name] for name in ("violations", "occurrences", "rejected", "connection_id", "message")} == {
        "violations": 3, "occurrences": 6, "rejected": 3, "connection_id": "last", "message": "latest",
    }  # fmt: skip
    assert (first["first_at"], first["last_at"]) == ("2026-11-21T02:00:00.000Z", "2026-11-21T02:00:30.000Z")
    assert [(one["connection_id"], one["group_id"], one["violations"], one["rejected"]) for one in others] == [
        (None, "b", 1, None), ("other host", None, 1, None), (None, "a", 1, None),
    ]  # fmt: skip
    assert cli.main(["violations", "--warehouse", root, "--csv"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.endswith(",message,example")
    assert len(lines) == 4
    assert cli.main(["violations", "--warehouse", root]) == 0
    text = capsys.readouterr().out
    assert "A row is a rule, client and host" in text
    assert [line.split()[3:5] for line in text.splitlines()[1:3]] == [["3", "6"], ["1", "2"]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail-on", "error"], 3),
        (["--fail-on", "error", "--each"], 3),
        (["--fail-on", "error", "--rule", "client_id_changed"], 0),
        (["--fail-on", "warning", "--rule", "client_id_changed"], 3),
        (["--fail-on", "info", "--since", "2030-01-01"], 0),
    ],
)
def test_it_fails_on_the_severity_that_is_asked(warehouse: str, arguments: list[str], code: int) -> None:
    assert cli.main(["violations", "--warehouse", warehouse, *arguments]) == code


@pytest.mark.parametrize(
    ("arguments", "explains"),
    [([], True), (["--rule", "instance_id_zero", "--limit", "1"], False), (["--rule", "client_id_changed"], True)],
    ids=["some", "none", "all"],
)
def test_it_says_what_no_number_of_rejected_requests_means(
    warehouse: str, capsys: pytest.CaptureFixture[str], arguments: list[str], explains: bool
) -> None:
    assert cli.main(["violations", "--warehouse", warehouse, *arguments]) == 0
    assert ("rejected counts the requests that the broker rejected; " in capsys.readouterr().out) == explains


def test_text_is_safe_for_a_terminal_and_says_what_to_do(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["violations", "--warehouse", warehouse, "--each"]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "group g\ufffd" in text
    assert [line.split()[:5] for line in text.splitlines()[1:3]] == [
        ["error", "client", "instance_id_zero", "2", "1"],
        ["error", "client", "instance_id_zero", "2", "-"],
    ]
    assert "report it to the client's authors" in text


def test_nothing_found_is_said(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["violations", "--warehouse", warehouse, "--since", "2030-01-01"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "No violations.",
        "No connection of a client is in what was asked for, so that this is no proof that all is well.",
    ]


def test_a_table_that_is_gone_is_named_also_if_its_rows_are_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [{"file_id": "c", "cluster": "c", "ingested_at": at(9)}]
    root = write_warehouse(tmp_path / "w", {"ingested_files": files}, "2026-11-21 02:00:09")
    shutil.rmtree(root / "connection_violations")
    assert cli.main(["violations", "--warehouse", str(root)]) == 1
    assert (
        "the table connection_violations is missing; `kafka-clientinfo build` makes it anew" in capsys.readouterr().err
    )


@pytest.mark.parametrize("arguments", [["--rule", "nothing"], ["--since", "some day"], ["--each", "--by", "owner"]])
def test_wrong_arguments_are_named_before_spark_starts(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["violations", "--warehouse", "/nowhere", *arguments]) == 2
    assert arguments[1] in capsys.readouterr().err
