"""Answers by owner: a client that several owners share is divided by its hosts, and no text of a file or log is markup."""

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands.ownership import (
    ENDPOINT,
    USE,
    OwnerImpact,
    Ownership,
    owners_of_uses,
    owners_table,
)
from kafka_clientinfo.config.owners import Owner, load_owners, parse_owners
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.queries import Rows
from kafka_clientinfo.releases.broker_releases import WORST_FIRST
from tests.commands.fleet_on_disk import HOSTILE, TARGET, fleet, use

HOSTILE_OWNER = "Pay|ments <script>`\\u202e"
OWNERS = rf"""
[[owners]]
owner = "{HOSTILE_OWNER.replace("`", "` ")}"
contact = "=pay@example.org"
hosts = ["10.1.0.0/16"]
[[owners]]
owner = "Search"
client_ids = ['search']
groups = ['g-\d']
"""
PAYMENTS = "Pay|ments <script>` \u202e"
GONE_ON = ("went_on_after_invalid_request", "warning")
USES = (
    use("shared", "10.1.0.1", "PRODUCE", 2, refused="refused_although_advertised", requests=7),
    use("shared", "10.2.0.1", "PRODUCE", 2, refused="refused_although_advertised", requests=5, violations=[GONE_ON]),
    use("shared", "10.1.0.2", violations=[GONE_ON, ("instance_id_zero", "error")]),
    use("search", "10.2.0.2", "FETCH", 18, undecided="negotiates_down", groups=["x", "g-1"]),
    use("search", "10.2.0.3", groups=["other"]),
    use(HOSTILE, HOSTILE, "FETCH", 3, refused="below_range", day=1),
    use(None, "10.1.0.1", principal=None),
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleet(tmp_path_factory.mktemp("owners") / "w", USES)


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("owners") / "o.toml"
    path.write_text(OWNERS)
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], warehouse: Path, *arguments: str) -> Any:
    capsys.readouterr()
    assert cli.main([*arguments, "--warehouse", str(warehouse), "--json"]) in (0, 3)
    return json.loads(capsys.readouterr().out)


def figures(rows: list[dict[str, Any]], *names: str) -> dict[str | None, tuple[Any, ...]]:
    return {row["owner"]: tuple(row[name] for name in names) for row in rows}


def test_filters_choose_what_counts_for_an_owner(
    warehouse: Path, owners: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--owners", owners, "--by", "owner", "--since", "2026-11-22")
    assert figures(asked(capsys, warehouse, "clients", *given), "clients") == {None: (1,)}
    found = asked(capsys, warehouse, "upgrade", "--target", TARGET, *given)
    assert figures(found["by_owner"], *WORST_FIRST, "refused_requests") == {None: (1, 0, 0, 0, 10)}


def test_an_owners_clients_were_seen_from_the_first_connection_to_the_last_request(
    owners: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if all connections come from one host, and the first of them lasts the longest."""
    path = fleet(tmp_path / "w", [use("x", "10.1.0.1", hours=3), use("x", "10.1.0.1"), use("x", "10.1.0.1", hours=1)])
    rows = asked(capsys, path, "clients", "--owners", owners, "--by", "owner")
    seen = ("2026-11-21T01:00:00.000Z", "2026-11-21T04:01:00.000Z")
    assert figures(rows, "first_seen", "last_seen") == {PAYMENTS: seen}


def test_nobody_by_owner_is_an_empty_array(warehouse: Path, owners: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--owners", owners, "--by", "owner", "--since", "2030-01-01")
    assert asked(capsys, warehouse, "clients", *given) == []


def test_what_breaks_was_used_from_the_first_connection_to_the_last_request(
    owners: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if all connections come from one host, and the first of them lasts the longest."""
    how_long: tuple[dict[str, int], ...] = ({"hours": 3}, {}, {"hours": 1})
    uses = [use("x", "10.1.0.1", "PRODUCE", 2, refused="below_range", **given) for given in how_long]
    path = fleet(tmp_path / "w", uses)
    found = asked(capsys, path, "upgrade", "--target", TARGET, "--owners", owners, "--by", "owner")
    seen = ("2026-11-21T01:00:00.000Z", "2026-11-21T04:01:00.000Z")
    assert figures(found["by_owner"], "first_seen", "last_seen") == {PAYMENTS: seen}


def test_violations_of_an_owner_come_by_severity_number_rule_and_whom_they_blame() -> None:
    """Those of an owner, a rule and whom it blames are one row; enforcement is null only if it is of all of them."""
    nobody = dict.fromkeys((*ENDPOINT, "group_id"))

    def kind(
        rule: str, blames: str, number: int, severity_rank: int = 1, rejected: int | None = None, **more: Any
    ) -> Any:
        severity = ("error", "warning")[severity_rank]
        counts = {"violations": number, "occurrences": 2 * number, "rejected": rejected}
        return (
            {"rule": rule, "blames": blames, "severity": severity, "first_at": number, "last_at": number}
            | counts
            | more
        )

    kinds = [
        kind("b", "client", 1),
        kind("a", "client", 1),
        kind("a", "broker", 1),
        kind("c", "client", 2),
        kind("d", "client", 3, rejected=4),
        kind("d", "client", 2),
        kind("z", "client", 1, severity_rank=0),
        kind("a", "client", 1, client_id="e", remote_host="h"),
    ]
    rows = [nobody | row for row in kinds]
    owners = parse_owners("[[owners]]\nowner = 'E'\nclient_ids = ['e']", "x")
    found = Ownership(owners, None).violations(rows, 0)  # type: ignore[arg-type]
    names = ("rule", "blames", "owner", "violations", "occurrences", "rejected", "first_at", "last_at")
    assert [tuple(row[name] for name in names) for row in found.dicts()] == [
        ("z", "client", None, 1, 2, None, 1, 1),
        ("d", "client", None, 5, 10, 4, 2, 3),
        ("c", "client", None, 2, 4, None, 2, 2),
        ("a", "broker", None, 1, 2, None, 1, 1),
        ("a", "client", None, 1, 2, None, 1, 1),
        ("a", "client", "E", 1, 2, None, 1, 1),
        ("b", "client", None, 1, 2, None, 1, 1),
    ]


def test_a_violation_of_a_group_has_the_owner_of_the_group(tmp_path: Path, owners: str) -> None:
    tables = local_tables(str(fleet(tmp_path / "w", USES)))
    assert tables is not None
    rules = parse_owners("[[owners]]\nowner = 'G'\ngroups = ['g']\n[[owners]]\nowner = 'E'\nprincipals = ['']", "x")
    nobody = dict.fromkeys(ENDPOINT)
    ownership = Ownership(rules, Scope(tables))
    found = [ownership.of_violation(nobody | {"group_id": group}) for group in ("g", None)]
    assert [owner and owner.name for owner in found] == ["G", None]


def test_the_settings_may_name_the_file(
    warehouse: Path, owners: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "c.toml"
    conf.write_text(f"owners = '{owners}'\n")
    assert len(asked(capsys, warehouse, "clients", "--conf", str(conf), "--by", "owner")) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["clients", "--by", "owner"], "--by owner needs owners; name a file with --owners"),
        (["violations", "--by", "owner"], "--by owner needs owners"),
        (["upgrade", "--target", TARGET, "--by", "owner"], "--by owner needs owners"),
        (["upgrade", "--all-targets", "--by", "owner", "--owners", "x"], "--by owner needs a release"),
        (["clients", "--owners", "/nowhere/x"], "cannot read the owners /nowhere/x"),
    ],
)
def test_wrong_arguments_are_named(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    assert cli.main([*arguments, "--warehouse", "/nowhere"]) == 2
    assert says in capsys.readouterr().err


BY_OWNER = (["clients"], ["violations"], ["upgrade", "--target", TARGET])


@pytest.mark.parametrize("by", [[], ["--by", "owner"]], ids=["listed", "by owner"])
@pytest.mark.parametrize("command", BY_OWNER, ids=" ".join)
def test_no_text_is_markup_or_a_formula(
    warehouse: Path, owners: str, capsys: pytest.CaptureFixture[str], command: list[str], by: list[str]
) -> None:
    arguments = [*command, "--owners", owners, *by, "--warehouse", str(warehouse)]
    shown = {}
    for form in ("--markdown", "--csv", ""):
        assert cli.main([*arguments, *([form] if form else [])]) in (0, 3)
        shown[form] = capsys.readouterr().out
    assert not {"\u202e", "\x1b"} & set(shown["--markdown"] + shown[""])
    assert "<script>" not in shown["--markdown"]
    assert "Pay\\|ments &lt;script&gt;\\` \ufffd" in shown["--markdown"]
    cells = [cell for row in csv.reader(io.StringIO(shown["--csv"], newline="")) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert any(PAYMENTS in cell for cell in cells)


def test_the_owners_of_a_use_are_in_alphabetical_order() -> None:
    parts = {Owner(name): OwnerImpact(uses=[dict.fromkeys(USE, "x")]) for name in "fdbaceg"}
    assert owners_of_uses(parts) == {("x",) * len(USE): [*"abcdefg"]}


def test_the_owner_with_the_most_clients_that_break_comes_first() -> None:
    """Then come those with more clients that will break later, then those that cannot be judged, then the name."""
    counts = {
        "b": (1, 0, 0),
        "A": (1, 0, 0),
        None: (1, 0, 0),
        "unjudged": (1, 0, 1),
        "warned": (1, 1, 0),
        "most": (2, 0, 0),
        "z": (0, 2, 2),
    }
    impacts = {
        name and Owner(name): OwnerImpact(dict(zip(WORST_FIRST, (*numbers, 9), strict=True)))
        for name, numbers in counts.items()
    }
    rows = owners_table(impacts, TARGET, 0).dicts()
    assert [row["owner"] for row in rows] == ["most", "warned", "unjudged", None, "A", "b", "z"]


def test_requests_and_times_by_owner_are_those_of_uses_that_break() -> None:
    given = (("refused", 1, 3, 5), ("refused", 2, 2, 4), ("deprecated", 9, 0, 9), ("undecided", 9, 0, 9))
    uses = [dict(zip(("verdict", "requests", "first_seen", "last_seen"), use, strict=True)) for use in given]
    (row,) = owners_table({None: OwnerImpact(uses=uses)}, TARGET, 0).dicts()
    assert (row["refused_requests"], row["first_seen"], row["last_seen"]) == (3, 2, 5)


def test_clients_that_are_fine_have_no_number_where_they_are_not_logged() -> None:
    impacts: dict[Owner | None, OwnerImpact] = {
        Owner("a"): OwnerImpact(hosts={("info", "h")}),
        Owner("b"): OwnerImpact({"refused": 0, "deprecated": 0, "undecided": 0, "accepted": 1}, hosts={("info", "h")}),
        Owner("c"): OwnerImpact(hosts={("info", "h"), ("debug", "h")}),
    }
    rows = owners_table(impacts, TARGET, 0, {"info"}).dicts()
    assert [row["accepted"] for row in rows] == [None, 1, 0]


def test_nobody_comes_first_and_then_owners_by_connections_and_name() -> None:
    names = (*ENDPOINT, "connections", "requests", "first_seen", "last_seen")
    rows = [
        ("c", "p", client_id, "kgo", "1", "h", connections, requests, first, first + 1)
        for client_id, connections, requests, first in (
            ("b", 1, 1, 7),
            ("A", 1, None, 8),
            ("nobody's", 1, 1, 9),
            ("c", 1, 1, 6),
            ("c", 1, 2, 5),
        )
    ]
    scope = SimpleNamespace(query=lambda *_: Rows(names, rows))
    rules = parse_owners("".join(f"[[owners]]\nowner = '{name}'\nclient_ids = ['{name}']\n" for name in "Abc"), "x")
    found = Ownership(rules, scope).clients().dicts()  # type: ignore[arg-type]
    assert [tuple(row[name] for name in ("owner", "connections", "requests", "first_seen", "last_seen")) for row in found] == [
        (None, 1, 1, 9, 10), ("c", 2, 3, 5, 7), ("A", 1, 0, 8, 9), ("b", 1, 1, 7, 8),
    ]  # fmt: skip


def test_a_client_that_is_refused_already_is_not_fine_for_the_owner_of_its_host(warehouse: Path, owners: str) -> None:
    tables = local_tables(str(warehouse))
    assert tables is not None
    ownership = Ownership(load_owners(owners), Scope(tables))
    sender = {
        "cluster": "c",
        "principal": None,
        "client_id": None,
        "client_software_name": "kgo",
        "client_software_version": "v1.0",
    }
    sender |= {"remote_host": "10.1.0.1", "is_known": True}
    of_nobody = sender | {"principal": "User:ANONYMOUS", "client_id": "search", "remote_host": "10.2.0.3"}
    others = [sender | {"is_known": False}, sender | {"remote_host": "10.9.9.9"}]

    def by_name(*refused: dict[str, Any]) -> dict[str | None, OwnerImpact]:
        return {owner.name if owner else None: one for owner, one in ownership.impact(TARGET, refused).items()}

    assert by_name(*others) == by_name()
    before, after = by_name(), by_name(sender, of_nobody, *others)
    assert {name: one.refused_already for name, one in after.items() if one.refused_already} == {PAYMENTS: 1, None: 1}
    for name, row in ((PAYMENTS, sender), (None, of_nobody)):
        assert after[name].clients == before[name].clients | {"accepted": before[name].clients["accepted"] - 1}
        assert after[name].refused_senders == [row]
    assert after["Search"] == before["Search"]  # the same client on another host, where it cannot be judged
