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
from tests.report.pages import column, data_of, report_of
from tests.report.tables_on_disk import write_warehouse

CLIENTS = [row for row in tables()["connections"] if row["role"] == "client"]


def test_what_is_left_out_is_said(hostile_warehouse: Path) -> None:
    shown = data_of(report_of(hostile_warehouse, Limits(clients=10, detailed=4, connections=1)))
    assert len(shown["tables"]["clients"]["rows"]) == 10
    assert len(shown["details"]) == 4
    assert (
        shown["tables"]["clients"]["cut"]
        == f"{len(CLIENTS) - 10} of {len(CLIENTS)} clients are left out here; the warehouse has all."
    )
    assert {row[3] for row in shown["tables"]["clients"]["rows"]} == {"would break"}


def test_a_page_that_would_be_too_long_has_fewer_clients(
    hostile_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 50_000)
    page = report_of(hostile_warehouse, Limits(clients=64, detailed=64))
    shown = data_of(page)
    assert len(embedded(shown).encode()) <= 50_000
    assert len(shown["details"]) < 61
    assert len(shown["tables"]["clients"]["rows"]) >= 8


def test_a_page_that_stays_too_long_has_one_client(hostile_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 1)
    shown = data_of(report_of(hostile_warehouse, Limits(clients=4, detailed=4)))
    assert (len(shown["tables"]["clients"]["rows"]), len(shown["details"])) == (1, 1)


def test_a_client_has_the_worst_verdict_of_its_uses() -> None:
    """Its hosts are those of all, in their order; it was last seen when the latest was."""
    who = dict.fromkeys(CLIENT, "x") | {
        "api_name": "FETCH",
        "refused_from": None,
        "upgrade_to": None,
        "raise_setting": None,
    }
    uses = [
        who | {"verdict": verdict, "api_version": version, "reason": reason, "requests": 2, "host_list": hosts, "last_seen": at(minute)}
        for version, (verdict, reason, hosts, minute) in enumerate([
            ("undecided", "needs_kraft", ["h9", "h3", *"gfedcba"], 0),
            ("refused", "below_range", ["h5", "h3", "h1"], 2),
            ("undecided", "inter_broker", None, 1),
        ])
    ]  # fmt: skip
    clients = {"refused": 1, "deprecated": 2, "undecided": 3, "accepted": 9}
    table = contents._who_breaks(
        Impact("4.0.1", clients=clients, rows=uses), SimpleNamespace(topics={}, rows_by_client={}), {}
    )
    ((verdict, _, _, _, _, lines, to_do, requests, _, hosts, seen, *_),) = table.rows
    assert (verdict, requests, seen) == ("would break", 6, at(2).timestamp())
    assert hosts == [*"abcdefg", "h1", "h3", "h5", "h9"]
    assert [line.partition(":")[0] for line in lines] == ["FETCH v0", "FETCH v1", "FETCH v2"]
    assert to_do == []
    assert (table.total, table.choose) == (6, {"verdict": "would break"})


@pytest.mark.long
def test_a_page_of_the_longest_texts_stays_short(tmp_path: Path) -> None:
    rows = tables()
    (key, *_) = rows["connections"]
    rows["connections"] += [
        key
        | {
            "client_id": f"{n}{'<' * 9_000}",
            "principal": f"{n}{'<' * 9_000}",
            "connection_id": f"{n}",
            "remote_host": f"{n}",
        }
        for n in range(700)
    ]
    page = report_of(write_warehouse(tmp_path / "w", rows))
    assert len(page.encode()) < 10_000_000
    shown = data_of(page)["tables"]
    assert shown["clients"]["cut"]
    assert all(len(row[0]) <= TEXT for row in shown["clients"]["rows"])
    assert len(shown["clients"]["rows"]) > len(CLIENTS), "those who are not in client_inventory are shown too"


def test_the_page_is_the_same_and_bounded_in_whatever_order_the_tables_are_stored(tmp_path: Path) -> None:
    rows = tables()
    first = CLIENTS[0]
    rows["connections"] += [
        first | {"connection_id": f"{n}", "api_versions_outcome": "fell_back", "fallback_to": n} for n in range(20)
    ]
    rows["connections"].append(first | {"client_id": "of no use", "connection_id": "of no use"})
    (several,) = rows["client_inventory"][1]["apis"]
    several["max_version"] = 5
    uses = {
        "would break": rows["upgrade_impact"][1],
        "cannot be judged": rows["upgrade_impact"][4] | {"refused_by": {}},
    }
    for number, verdict in [(501, "would break"), (201, "cannot be judged")]:
        more = [{"client_id": f"{verdict} {n}", "connection_id": f"{verdict} {n}"} for n in range(number)]
        rows["connections"] += [first | one for one in more]
        rows["upgrade_impact"] += [uses[verdict] | _client(first | one) for one in more]
    backwards = {name: found[::-1] for name, found in rows.items()}
    pages = [report_of(write_warehouse(tmp_path / str(n), each)) for n, each in enumerate((rows, backwards))]
    shown = data_of(pages[0])
    assert shown["tables"] == data_of(pages[1])["tables"]
    assert [row[3] for row in shown["tables"]["clients"]["rows"] if row[0] == "of no use"] == ["fine"]
    assert {one for details in shown["details"] for one in details["facts"].get("apis", ())} == {
        "FETCH v3",
        "FETCH v3–v5",
    }
    assert {len(details["connections"]) for details in shown["details"]} == {1, 10}
    assert Counter(column(shown, "who_breaks", "Verdict")) == {"would break": 500, "cannot be judged": 200}


def _client(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in CLIENT}


def test_limits_go_down_by_half_to_one_client() -> None:
    assert Limits(5, 4, 10).halved() == Limits(2, 2, 10)
    assert Limits(1, 1, 10).halved() == Limits(1, 0, 10)


def test_a_plot_has_few_names(page: str, data: dict[str, Any]) -> None:
    assert "Connections by software and version, the 14 most frequent" in page
    assert [one["label"] for one in data["tables"]["open_connections"]["columns"]][-1] == plots.OTHERS
    assert len(data["tables"]["open_connections"]["columns"]) == 1 + 6 + 1


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["x" * 240, "y" * 240], ["x" * 240, "y" * 240]),
        (["x" * 240, "y" * 240, ""], ["x" * 240, "y" * 240, ""]),
        (["x" * 240, "y" * 240, "z"], ["x" * 240, "y" * 240, "…"]),
        (["x"] * 20, ["x"] * 20),
        (["x"] * 21, ["x"] * 20),
    ],
    ids=["two of the longest", "an empty one after these", "more", "twenty", "more than twenty"],
)
def test_a_list_of_texts_is_cut(texts: list[str], expected: list[str]) -> None:
    assert cell(texts, "texts") == expected


@pytest.mark.parametrize(("rows", "left"), [(125, 125), (126, 63), (127, 63)])
def test_a_table_loses_rows_if_it_has_many(rows: int, left: int) -> None:
    table = Table("t", "T", (), [[n] for n in range(rows)], total=rows)
    table.halve()
    assert table.rows == [[n] for n in range(left)]
    assert table.cut == (
        f"{rows - left} of {rows} rows are left out here; the warehouse has all." if left < rows else ""
    )


def test_long_texts_are_cut(data: dict[str, Any]) -> None:
    assert max(len(text) for text in column(data, "clients", "Client id")) == TEXT == 240
    assert "\u202e" not in json.dumps(data, ensure_ascii=False)
    assert "\x00" not in json.dumps(data, ensure_ascii=False)
