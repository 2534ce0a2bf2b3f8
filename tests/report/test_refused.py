"""What the page says of clients that count as fine, beside requests that brokers refuse already."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.impact import Impact, impact
from kafka_clientinfo.tables.spec import CLIENT
from tests.commands.fleet_on_disk import fleet, use
from tests.report.conftest import TARGET, at
from tests.report.pages import data_of, report_of, scope_of

NAMED = [
    {"principal": "p", "client_id": "<i>", "client_software_name": "n", "client_software_version": "v", "requests": 1}
]


@pytest.fixture
def verdict(hostile_warehouse: Path) -> Impact:
    return impact(scope_of(hostile_warehouse), TARGET, True)


def test_clients_may_only_look_fine(hostile_warehouse: Path, verdict: Impact, page: str, data: dict[str, Any]) -> None:
    refused = {"cluster": "c", "broker": "b", "remote_host": "h", "api_name": "FETCH", "last_at": at(4)}
    refused |= {"client_ids": ["", "<b>"], "named_requests": 1, "named_clients": NAMED}
    verdict.refused_already = [refused | {"api_version": version, "requests": version} for version in (2, 1)]
    verdict.doubts.fine_beside_refused, verdict.doubts.barely_seen, verdict.doubts.clients_refused_already = 1, 5, 3
    with_notes = report_of(scope_of(hostile_warehouse), verdict)
    last = int(at(4).timestamp())
    assert data_of(with_notes)["tables"]["refused"]["rows"] == [
        ["h", "FETCH v2", 2, last, ["<i>"], 1, ["(empty)", "<b>"], "b"],
        ["h", "FETCH v1", 1, last, ["<i>"], 0, [], "b"],
    ]
    assert "refused" not in data["tables"]
    for text in (
        "fine as far as seen</dt>",
        "<li>Brokers refused 3 requests in the last day of the logs already (view refused_requests): of 3 clients that would count as "
        "fine by other requests. Clients from hosts of refused requests that name no client, and that count as fine: 1.</li>",
        "<li>Of the clients that are fine, 5 were seen with requests for metadata and versions only.</li>",
    ):  # fmt: skip
        assert (with_notes.count(text), page.count(text)) == (1, 0)


@pytest.mark.parametrize("fine", [None, 0])
def test_not_logged_is_no_green_zero(hostile_warehouse: Path, verdict: Impact, page: str, fine: int | None) -> None:
    assert "not logged</dt>" not in page
    verdict.doubts.is_only_info = True
    if fine is not None:
        verdict.clients["accepted"] = fine
    shown = f"<dd>{verdict.clients['accepted']:,}</dd><dt>fine; others are not logged</dt>"
    nothing = "<dd class=none>–</dd><dt>others are not logged</dt></div></dl>"
    assert (nothing if fine == 0 else shown) in report_of(scope_of(hostile_warehouse), verdict)


def test_what_is_not_logged_at_info_is_not_none(tmp_path: Path) -> None:
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    made = report_of(scope_of(fleet(tmp_path / "w", [use("old", "10.1.0.1", info_only=True, **old)])))
    assert "<li>At INFO, violations, rebalances, unused topics and bytes a day are not logged, so" in made
    assert ">Kafka 4.0.1: 1 client would break<" in made  # those that are fine are not logged
    for table in ("rebalances", "rules", "violations", "unused_topics"):
        assert f'data-table="{table}"' not in made
    assert "<dd>0</dd><dt>errors</dt>" not in made


def test_the_list_calls_no_refused_client_fine(hostile_warehouse: Path, verdict: Impact, data: dict[str, Any]) -> None:
    scope, before = scope_of(hostile_warehouse), words(data)
    at_target = f"{{client_verdicts}} WHERE release = '{TARGET}' AND verdict = 'accepted'"
    fine = scope.query(f"SELECT {', '.join(CLIENT)} FROM {at_target}").dicts()
    unknown = dict.fromkeys(CLIENT) | {"cluster": fine[0]["cluster"], "remote_host": None, "is_known": False}
    verdict.refused_senders = [fine[0] | {"remote_host": "h", "is_known": True}]
    refused = words(data_of(report_of(scope, verdict)))
    assert refused == before - Counter(["fine"]) + Counter(["refused already"])
    verdict.refused_senders.append(unknown)
    refused = words(data_of(report_of(scope, verdict)))
    assert refused["refused already"] == 1
    assert refused["fine"] + refused["fine as far as seen"] == before["fine"] - 1
    assert refused["fine as far as seen"] == sum(one["cluster"] == unknown["cluster"] for one in fine[1:])


def words(data: dict[str, Any]) -> Counter[str]:
    table = data["tables"]["clients"]
    (place,) = [number for number, column in enumerate(table["columns"]) if column["kind"] == "badge"]
    return Counter(row[place] for row in table["rows"])
