"""Answers by owner: a client that several owners share is divided by its hosts, and no text of a file or log is markup."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.commands.ownership import ENDPOINT, USE, OwnerImpact, Ownership, owners_of_uses, owners_table
from kafka_clientinfo.config.owners import Owner, load_owners, parse_owners
from kafka_clientinfo.questions.queries import Rows
from kafka_clientinfo.releases.broker_releases import WORST_FIRST
from tests.commands.fleet_on_disk import HOSTILE, TARGET, use
from tests.report.pages import scope_of

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
    *(use("x", "10.1.0.1", "PRODUCE", 2, refused="below_range", cluster="long", hours=hours) for hours in (3, 0, 1)),
)  # fmt: skip


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("owners") / "o.toml"
    path.write_text(OWNERS)
    return path


@pytest.fixture
def by_owner(warehouse: Path, owners: Path, ask: Any) -> Callable[..., dict[str | None, tuple[Any, ...]]]:
    """Return a function that gives figures of each owner, of `clients` or `upgrade` with filters."""

    def call(command: str, names: list[str], *filters: str) -> dict[str | None, tuple[Any, ...]]:
        words = ("--target", TARGET) if command == "upgrade" else ()
        found = ask(
            command, *words, "--warehouse", warehouse, "--owners", owners, "--by", "owner", "--json", *filters
        ).json
        rows = found["by_owner"] if command == "upgrade" else found
        return {row["owner"]: tuple(row[name] for name in names) for row in rows}

    return call


def test_filters_choose_what_counts_for_an_owner(by_owner: Any) -> None:
    assert by_owner("clients", ["clients"], "--since", "2026-11-22") == {None: (1,)}
    assert by_owner("clients", ["clients"], "--since", "2030-01-01") == {}
    figures = by_owner("upgrade", [*WORST_FIRST, "refused_requests"], "--since", "2026-11-22")
    assert figures == {None: (1, 0, 0, 0, 10)}


@pytest.mark.parametrize("command", ["clients", "upgrade"])
def test_clients_were_seen_from_the_first_connection_to_the_last_request(command: str, by_owner: Any) -> None:
    """Also if all connections come from one host, and the first of them lasts the longest."""
    seen = ("2026-11-21T01:00:07.000Z", "2026-11-21T04:01:07.000Z")
    assert by_owner(command, ["first_seen", "last_seen"], "--cluster", "long") == {PAYMENTS: seen}


def test_violations_of_an_owner_come_by_severity_number_rule_and_whom_they_blame() -> None:
    """Those of an owner, a rule and whom it blames are one row; enforcement is null only if it is of all of them."""
    nobody = dict.fromkeys((*ENDPOINT, "group_id"))

    def kind(rule: str, blames: str, number: int, rank: int = 1, rejected: int | None = None, **more: Any) -> Any:
        counts = {"violations": number, "occurrences": 2 * number, "rejected": rejected}
        named = {"rule": rule, "blames": blames, "severity": ("error", "warning")[rank]}
        return nobody | named | {"first_at": number, "last_at": number} | counts | more

    rows = [
        kind("b", "client", 1), kind("a", "client", 1), kind("a", "broker", 1), kind("c", "client", 2),
        kind("d", "client", 3, rejected=4), kind("d", "client", 2), kind("z", "client", 1, rank=0),
        kind("a", "client", 1, client_id="e", remote_host="h"),
    ]  # fmt: skip
    owners = parse_owners("[[owners]]\nowner = 'E'\nclient_ids = ['e']", "x")
    found = Ownership(owners, None).violations(rows, 0)  # type: ignore[arg-type]
    names = ("rule", "blames", "owner", "violations", "occurrences", "rejected", "first_at", "last_at")
    assert [tuple(row[name] for name in names) for row in found.dicts()] == [
        ("z", "client", None, 1, 2, None, 1, 1), ("d", "client", None, 5, 10, 4, 2, 3),
        ("c", "client", None, 2, 4, None, 2, 2), ("a", "broker", None, 1, 2, None, 1, 1),
        ("a", "client", None, 1, 2, None, 1, 1), ("a", "client", "E", 1, 2, None, 1, 1),
        ("b", "client", None, 1, 2, None, 1, 1),
    ]  # fmt: skip


def test_a_violation_of_a_group_has_the_owner_of_the_group(warehouse: Path) -> None:
    rules = parse_owners("[[owners]]\nowner = 'G'\ngroups = ['g']\n[[owners]]\nowner = 'E'\nprincipals = ['']", "x")
    ownership, nobody = Ownership(rules, scope_of(warehouse)), dict.fromkeys(ENDPOINT)
    found = [ownership.of_violation(nobody | {"group_id": group}) for group in ("g", None)]
    assert [owner and owner.name for owner in found] == ["G", None]


def test_the_settings_may_name_the_file(warehouse: Path, owners: Path, tmp_path: Path, ask: Any) -> None:
    (tmp_path / "c.toml").write_text(f"owners = '{owners}'\n")
    rows = ask("clients", "--warehouse", warehouse, "--conf", tmp_path / "c.toml", "--by", "owner", "--json").json
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["clients", "--by", "owner"], "--by owner needs owners; name a file with --owners"),
        (["violations", "--by", "owner"], "--by owner needs owners"),
        (["activity", "--by", "owner"], "--by owner needs owners"),
        (["upgrade", "--target", TARGET, "--by", "owner"], "--by owner needs owners"),
        (["clients", "--owners", "/nowhere/x"], "cannot read the owners /nowhere/x"),
    ],
)
def test_wrong_arguments_are_named(ask: Any, arguments: list[str], says: str) -> None:
    answer = ask(*arguments, "--warehouse", "/nowhere")
    assert answer.code == 2
    assert says in answer.err


@pytest.mark.parametrize("by", [[], ["--by", "owner"]], ids=["listed", "by owner"])
@pytest.mark.parametrize("command", [["clients"], ["violations"], ["upgrade", "--target", TARGET]], ids=" ".join)
def test_no_text_is_markup(warehouse: Path, owners: Path, ask: Any, command: list[str], by: list[str]) -> None:
    line = [*command, "--owners", owners, *by, "--warehouse", warehouse]
    markdown, table, text = (ask(*line, *form).out for form in (["--markdown"], ["--csv"], []))
    assert not {"\u202e", "\x1b"} & set(markdown + text)
    assert "<script>" not in markdown
    assert "Pay\\|ments &lt;script&gt;\\` \ufffd" in markdown
    cells = [cell for row in csv.reader(io.StringIO(table, newline="")) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert any(PAYMENTS in cell for cell in cells)


def test_the_owners_of_a_use_are_in_alphabetical_order() -> None:
    parts = {Owner(name): OwnerImpact(uses=[dict.fromkeys(USE, "x")]) for name in "fdbaceg"}
    assert owners_of_uses(parts) == {("x",) * len(USE): [*"abcdefg"]}


def test_the_owner_with_the_most_clients_that_break_comes_first() -> None:
    """Then come those with more clients that will break later, then those that cannot be judged, then the name."""
    counts = {
        "b": (1, 0, 0), "A": (1, 0, 0), None: (1, 0, 0), "unjudged": (1, 0, 1), "warned": (1, 1, 0), "most": (2, 0, 0),
        "z": (0, 2, 2),
    }  # fmt: skip
    impacts = {
        name and Owner(name): OwnerImpact(dict(zip(WORST_FIRST, (*numbers, 9), strict=True)))
        for name, numbers in counts.items()
    }
    rows = owners_table(impacts, TARGET).dicts()
    assert [row["owner"] for row in rows] == ["most", "warned", "unjudged", None, "A", "b", "z"]


def test_text_counts_owners_that_have_nothing_to_do() -> None:
    impacts = {Owner("fine"): OwnerImpact(), Owner("refused"): OwnerImpact(refused_already=1), None: OwnerImpact()}
    table = owners_table(impacts, TARGET, with_idle=False)
    assert [row["owner"] for row in table.dicts()] == ["refused"]
    assert table.title.endswith(" (2 rows with nothing to do left out)")
    assert len(owners_table(impacts, TARGET).rows) == 3


def test_requests_and_times_by_owner_are_those_of_uses_that_break() -> None:
    given = (("refused", 1, 3, 5), ("refused", 2, 2, 4), ("deprecated", 9, 0, 9), ("undecided", 9, 0, 9))
    uses = [dict(zip(("verdict", "requests", "first_seen", "last_seen"), use, strict=True)) for use in given]
    (row,) = owners_table({None: OwnerImpact(uses=uses)}, TARGET).dicts()
    assert (row["refused_requests"], row["first_seen"], row["last_seen"]) == (3, 2, 5)


def test_clients_that_are_fine_have_no_number_where_they_are_not_logged() -> None:
    fine = dict.fromkeys(WORST_FIRST, 0) | {"accepted": 1}
    impacts: dict[Owner | None, OwnerImpact] = {
        Owner("a"): OwnerImpact(hosts={("info", "h")}),
        Owner("b"): OwnerImpact(fine, hosts={("info", "h")}),
        Owner("c"): OwnerImpact(hosts={("info", "h"), ("debug", "h")}),
    }
    assert [row["accepted"] for row in owners_table(impacts, TARGET, {"info"}).dicts()] == [None, 1, 0]


def test_nobody_comes_first_and_then_owners_by_connections_and_name() -> None:
    names = (*ENDPOINT, "connections", "requests", "first_seen", "last_seen")
    clients = (("b", 1, 7), ("A", None, 8), ("nobody's", 1, 9), ("c", 1, 6), ("c", 2, 5))
    rows = [("c", "p", name, "kgo", "1", "h", 1, requests, first, first + 1) for name, requests, first in clients]
    scope = SimpleNamespace(query=lambda *_: Rows(names, rows))
    rules = parse_owners("".join(f"[[owners]]\nowner = '{name}'\nclient_ids = ['{name}']\n" for name in "Abc"), "x")
    found = Ownership(rules, scope).clients().dicts()  # type: ignore[arg-type]
    assert [tuple(row[name] for name in ("owner", *names[-4:])) for row in found] == [
        (None, 1, 1, 9, 10), ("c", 2, 3, 5, 7), ("A", 1, 0, 8, 9), ("b", 1, 1, 7, 8),
    ]  # fmt: skip


def test_a_client_that_is_refused_already_is_not_fine_for_the_owner_of_its_host(warehouse: Path, owners: Path) -> None:
    ownership = Ownership(load_owners(str(owners)), scope_of(warehouse))
    sender = {
        "cluster": "c", "principal": None, "client_id": None, "client_software_name": "kgo",
        "client_software_version": "v1.0", "remote_host": "10.1.0.1", "is_known": True,
    }  # fmt: skip
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
