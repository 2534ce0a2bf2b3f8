"""The command `violations`: what is chosen, in what order, and safe to print."""

from pathlib import Path
from typing import Any

import pytest

from tests.frames import at
from tests.report.tables_on_disk import write_warehouse


def row(rule: str, severity: str, seconds: float, **given: Any) -> dict[str, Any]:
    return {
        "rule": rule, "severity": severity, "blames": "client", "occurrences": 2, "cluster": "c", "broker": "b",
        "connection_id": "1.2.3.4:1-5.6.7.8:2-3", "opened_at": at(0), "opened_seq": 0, "first_at": at(0), "last_at": at(seconds),
        "example": (at(0), 7, "^x"), "message": "client id 'x\x1b[2J'; asked",
    } | given  # fmt: skip


OF_GROUP = dict.fromkeys(("broker", "connection_id", "opened_at", "opened_seq"))
ROWS = [
    row("client_id_changed", "warning", 10),
    row("instance_id_zero", "error", 5),
    row("instance_id_zero", "error", 20, opened_seq=1, rejected=1, taken=0),
    row("mixed_protocol_types", "warning", 30, group_id="g\n", cluster="d", **OF_GROUP),
]
ONE = {"client_id": "one", "remote_host": "h", "cluster": "e"}
SUMMED = [
    row("client_id_changed", "warning", 10, **ONE, connection_id="first", rejected=1, taken=1),
    row("client_id_changed", "warning", 30, **ONE, connection_id="last", message="latest"),
    row("client_id_changed", "warning", 20, **ONE, connection_id="middle", rejected=2, taken=0),
    row("client_id_changed", "warning", 40, **ONE | {"remote_host": "elsewhere"}, connection_id="other host"),
    row("mixed_protocol_types", "warning", 40, group_id="a", cluster="e", **OF_GROUP),
    row("mixed_protocol_types", "warning", 50, group_id="b", cluster="e", **OF_GROUP),
]


def written(root: Path, rows: list[dict[str, Any]]) -> Path:
    files = [{"file_id": name, "cluster": name, "ingested_at": at(9)} for name in "cde"]
    return write_warehouse(root, {"violations": rows, "ingested_files": files}, at(9))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("listing") / "w", ROWS)


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        ([], ["instance_id_zero", "instance_id_zero", "mixed_protocol_types", "client_id_changed"]),
        (["--severity", "error"], ["instance_id_zero", "instance_id_zero"]),
        (["--severity", "warning", "--rule", "client_id_changed"], ["client_id_changed"]),
        (["--severity", "error", "--rule", "client_id_changed"], []),
        (["--rule", "client_id_changed", "--rule", "mixed_protocol_types"], ["mixed_protocol_types", "client_id_changed"]),
        (["--since", "2026-11-21T02:00:20Z"], ["instance_id_zero", "mixed_protocol_types"]),
        (["--since", "2026-11-22"], []),
        (["--until", "2026-11-21T02:00:00"], []),
        (["--cluster", "d"], ["mixed_protocol_types"]),
    ],
)  # fmt: skip
def test_it_lists_what_is_asked_for(warehouse: Path, ask: Any, arguments: list[str], rules: list[str]) -> None:
    found = ask("violations", "--warehouse", warehouse, "--each", "--json", *arguments).json
    assert [violation["rule"] for violation in found["violations"]] == rules
    assert found["total"] == found["total_violations"] == len(rules)


def test_a_row_is_a_rule_client_and_host_with_its_latest_violation(tmp_path: Path, ask: Any) -> None:
    """Both numbers are in JSON: that of the rows, and that of the violations that they sum up."""
    line = ("violations", "--warehouse", written(tmp_path / "w", SUMMED))
    answer = ask(*line, "--json").json
    assert (answer["total"], answer["total_violations"]) == (4, 6)
    first, *others = answer["violations"]
    assert {name: first[name] for name in ("violations", "occurrences", "rejected", "connection_id", "message")} == {
        "violations": 3, "occurrences": 6, "rejected": 3, "connection_id": "last", "message": "latest",
    }  # fmt: skip
    assert (first["first_at"], first["last_at"]) == ("2026-11-21T02:00:00.000Z", "2026-11-21T02:00:30.000Z")
    assert [(one["connection_id"], one["group_id"], one["violations"], one["rejected"]) for one in others] == [
        (None, "b", 1, None), ("other host", None, 1, None), (None, "a", 1, None),
    ]  # fmt: skip
    header, *lines = ask(*line, "--csv").out.splitlines()
    assert (header.endswith(",message,example"), len(lines)) == (True, 4)
    assert [row.split()[3:5] for row in ask(*line).out.splitlines()[1:3]] == [["3", "6"], ["1", "2"]]


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
def test_it_fails_on_the_severity_that_is_asked(warehouse: Path, ask: Any, arguments: list[str], code: int) -> None:
    assert ask("violations", "--warehouse", warehouse, *arguments).code == code


@pytest.mark.parametrize(
    ("arguments", "explains"),
    [([], True), (["--rule", "instance_id_zero", "--limit", "1"], False), (["--rule", "client_id_changed"], True)],
    ids=["some", "none", "all"],
)
def test_it_says_what_no_number_rejected_means(warehouse: Path, ask: Any, arguments: list[str], explains: bool) -> None:
    text = ask("violations", "--warehouse", warehouse, *arguments).out
    assert ("rejected counts the requests that the broker rejected; " in text) == explains


def test_nothing_found_is_said(warehouse: Path, ask: Any) -> None:
    assert ask("violations", "--warehouse", warehouse, "--since", "2030-01-01").out.splitlines() == [
        "No violations.",
        "No connection of a client is in what was asked for, so that this is no proof that all is well.",
    ]


@pytest.mark.parametrize("arguments", [["--rule", "nothing"], ["--since", "some day"], ["--each", "--by", "owner"]])
def test_wrong_arguments_are_named_before_spark_starts(arguments: list[str], ask: Any) -> None:
    answer = ask("violations", "--warehouse", "/nowhere", *arguments)
    assert answer.code == 2
    assert arguments[1] in answer.err
