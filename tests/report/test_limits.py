"""What the page leaves out if it would be too long, and that it says so."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.questions.impact import Impact
from kafka_clientinfo.report import contents, plots
from kafka_clientinfo.report.clients import Limits
from kafka_clientinfo.report.page import embedded
from kafka_clientinfo.report.table import TEXT, Table, cell
from kafka_clientinfo.tables.spec import CLIENT
from tests.report.conftest import at, tables
from tests.report.pages import column, data_of, report_of, scope_of
from tests.report.tables_on_disk import write_warehouse

CLIENTS = [row for row in tables()["connections"] if row["role"] == "client"]


def test_what_is_left_out_is_said(hostile_warehouse: Path) -> None:
    shown = data_of(report_of(scope_of(hostile_warehouse), limits=Limits(clients=10, detailed=4, connections=1)))
    table = shown["tables"]["clients"]
    assert (len(table["rows"]), len(shown["details"])) == (10, 4)
    assert table["cut"] == f"{len(CLIENTS) - 10} of {len(CLIENTS)} clients are left out here; the warehouse has all."
    assert {row[3] for row in table["rows"]} == {"would break"}


@pytest.mark.parametrize(("most", "clients"), [(50_000, 64), (1, 4)])
def test_a_page_that_would_be_too_long_has_fewer_clients_and_at_least_one(
    hostile_warehouse: Path, monkeypatch: pytest.MonkeyPatch, most: int, clients: int
) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", most)
    shown = data_of(report_of(scope_of(hostile_warehouse), limits=Limits(clients=clients, detailed=clients)))
    numbers = len(shown["tables"]["clients"]["rows"]), len(shown["details"])
    if most == 1:
        assert numbers == (1, 1)
    else:
        assert (len(embedded(shown).encode()) <= most, numbers[0] >= 8, numbers[1] < 61) == (True, True, True)


def test_a_client_has_the_worst_verdict_of_its_uses() -> None:
    """Its hosts are those of all, in their order; it was last seen when the latest was."""
    who: dict[str, Any] = dict.fromkeys((*CLIENT, "library"), "x") | dict.fromkeys(
        ("refused_from", "upgrade_to", "raise_setting")
    )
    given = [
        ("undecided", "needs_kraft", ["h9", "h3", *"gfedcba"], 0),
        ("refused", "below_range", ["h5", "h3", "h1"], 2),
        ("undecided", "inter_broker", None, 1),
    ]
    uses = [
        who | {"api_name": "FETCH", "api_version": version, "verdict": verdict, "reason": reason, "requests": 2}
        | {"host_list": hosts, "last_seen": at(minute)}
        for version, (verdict, reason, hosts, minute) in enumerate(given)
    ]  # fmt: skip
    result = Impact("4.0.1", clients={"refused": 1, "deprecated": 2, "undecided": 3, "accepted": 9}, rows=uses)
    table = contents._who_breaks(result, SimpleNamespace(topics={}, rows_by_client={}), {})
    ((verdict, _, _, _, _, lines, to_do, requests, _, hosts, seen, *_),) = table.rows
    assert (verdict, requests, seen, to_do) == ("would break", 6, at(2).timestamp(), [])
    assert hosts == [*"abcdefg", "h1", "h3", "h5", "h9"]
    assert [line.partition(":")[0] for line in lines] == ["FETCH v0", "FETCH v1", "FETCH v2"]
    assert (table.total, table.choose) == (6, {"verdict": "would break"})


@pytest.mark.long
def test_a_page_of_the_longest_texts_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 1_000_000)
    rows = tables()
    (key, *_) = rows["connections"]
    long = ((n, f"{n}{'<' * 9_000}") for n in range(700))
    rows["connections"] += [
        key | {"client_id": text, "principal": text, "connection_id": f"{n}", "remote_host": f"{n}"} for n, text in long
    ]
    page = report_of(scope_of(write_warehouse(tmp_path / "w", rows)))
    shown = data_of(page)["tables"]
    assert len(embedded(data_of(page)).encode()) <= 1_000_000
    assert len(page.encode()) < 1_500_000
    assert shown["clients"]["cut"]
    assert all(len(row[0]) <= TEXT for row in shown["clients"]["rows"])
    assert len(shown["clients"]["rows"]) > len(CLIENTS), "those who are not in client_inventory are shown too"


def test_the_page_is_the_same_and_bounded_in_whatever_order_the_tables_are_stored(tmp_path: Path) -> None:
    rows = tables()
    first = CLIENTS[0]
    fell_back = first | {"api_versions_outcome": "fell_back"}
    rows["connections"] += [fell_back | {"connection_id": f"{n}", "fallback_to": n} for n in range(20)]
    rows["connections"].append(first | {"client_id": "of no use", "connection_id": "of no use"})
    (several,) = rows["client_inventory"][1]["apis"]
    several["max_version"] = 5
    breaking, undecided = rows["upgrade_impact"][1], rows["upgrade_impact"][4] | {"refused_by": {}}
    for number, verdict, use in [(501, "would break", breaking), (201, "cannot be judged", undecided)]:
        more = [first | {"client_id": f"{verdict} {n}", "connection_id": f"{verdict} {n}"} for n in range(number)]
        rows["connections"] += more
        rows["upgrade_impact"] += [use | {name: one[name] for name in CLIENT} for one in more]
    backwards = {name: found[::-1] for name, found in rows.items()}
    roots = [write_warehouse(tmp_path / str(n), each) for n, each in enumerate((rows, backwards))]
    shown, other = (data_of(report_of(scope_of(root))) for root in roots)
    assert shown["tables"] == other["tables"]
    assert [row[3] for row in shown["tables"]["clients"]["rows"] if row[0] == "of no use"] == ["fine"]
    apis = {one for details in shown["details"] for one in details["facts"].get("apis", ())}
    assert apis == {"FETCH v3", "FETCH v3–v5"}
    assert {len(details["connections"]) for details in shown["details"]} == {1, 10}
    assert Counter(column(shown, "who_breaks", "Verdict")) == {"would break": 500, "cannot be judged": 200}


def test_a_plot_has_few_names_and_long_texts_are_cut(page: str, data: dict[str, Any]) -> None:
    assert "Connections by software and version, the 14 most frequent" in page
    labels = [one["label"] for one in data["tables"]["open_connections"]["columns"]]
    assert (labels[-1], len(labels)) == (plots.OTHERS, 1 + 6 + 1)
    assert max(len(text) for text in column(data, "clients", "Client id")) == TEXT == 240
    assert not {"\u202e", "\x00"} & set(json.dumps(data, ensure_ascii=False))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["x" * 240, "y" * 240, ""], ["x" * 240, "y" * 240, ""]),
        (["x" * 240, "y" * 240, "z"], ["x" * 240, "y" * 240, "…"]), (["x"] * 20, ["x"] * 20), (["x"] * 21, ["x"] * 20),
    ],
    ids=["two of the longest", "more", "twenty", "more than twenty"],
)  # fmt: skip
def test_a_list_of_texts_is_cut(texts: list[str], expected: list[str]) -> None:
    assert cell(texts, "texts") == expected


@pytest.mark.parametrize(("rows", "left"), [(125, 125), (126, 63), (127, 63)])
def test_a_table_loses_rows_if_it_has_many(rows: int, left: int) -> None:
    table = Table("t", "T", (), [[n] for n in range(rows)], total=rows)
    table.halve()
    assert table.rows == [[n] for n in range(left)]
    cut = f"{rows - left} of {rows} rows are left out here; the warehouse has all."
    assert table.cut == (cut if left < rows else "")
