"""What the page says of clients that count as fine, beside requests that brokers refuse already."""

from collections import Counter
from pathlib import Path
from typing import Any

from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.report import contents
from kafka_clientinfo.tables.spec import CLIENT
from tests.commands.fleet_on_disk import fleet, use
from tests.report.conftest import TARGET, at
from tests.report.pages import data_of, scope_of

NAMED = [
    {"principal": "p", "client_id": "<i>", "client_software_name": "n", "client_software_version": "v", "requests": 1}
]


def test_it_says_which_clients_may_only_look_fine(hostile_warehouse: Path, page: str, data: dict[str, Any]) -> None:
    scope = scope_of(hostile_warehouse)
    verdict = impact(scope, TARGET, True)
    refused = {"cluster": "c", "broker": "b", "remote_host": "h", "api_name": "FETCH", "last_at": at(4)}
    verdict.refused_already = [
        refused
        | {
            "api_version": version,
            "requests": version,
            "client_ids": ["", "<b>"],
            "named_requests": 1,
            "named_clients": NAMED,
        }
        for version in (2, 1)
    ]
    verdict.fine_beside_refused, verdict.barely_seen, verdict.clients_refused_already = 1, 5, 3
    with_notes = contents.report(scope, verdict)
    rows = data_of(with_notes)["tables"]["refused"]["rows"]
    last = int(at(4).timestamp())
    assert rows == [
        ["h", "FETCH v2", 2, last, ["<i>"], 1, ["(empty)", "<b>"], "b"],
        ["h", "FETCH v1", 1, last, ["<i>"], 0, [], "b"],
    ]
    assert "refused" not in data["tables"]
    assert "fine as far as seen</dt>" in with_notes
    assert "fine as far as seen</dt>" not in page
    for note in (
        "Brokers refused 3 requests in the last day of the logs already (view refused_requests): of 3 clients that would count as "
        "fine by other requests. Clients from hosts of refused requests that name no client, and that count as fine: 1.",
        "Of the clients that are fine, 5 were seen with requests for metadata and versions only.",
    ):
        assert (with_notes.count(f"<li>{note}</li>"), page.count(f"<li>{note}</li>")) == (1, 0)


def test_clients_that_are_not_logged_are_no_green_zero(hostile_warehouse: Path, page: str) -> None:
    scope = scope_of(hostile_warehouse)
    verdict = impact(scope, TARGET, True)
    assert "not logged</dt>" not in page
    verdict.is_only_info = True
    number = verdict.clients["accepted"]
    assert f"<dd>{number:,}</dd><dt>fine; others are not logged</dt>" in contents.report(scope, verdict)
    verdict.clients["accepted"] = 0
    assert "<dd class=none>–</dd><dt>others are not logged</dt></div></dl>" in contents.report(scope, verdict)


def test_what_is_not_logged_at_info_is_not_none(tmp_path: Path) -> None:
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    scope = scope_of(fleet(tmp_path / "w", [use("old", "10.1.0.1", info_only=True, **old)]))
    made = contents.report(scope, impact(scope, TARGET, True))
    assert "<li>At INFO, violations, rebalances, unused topics and bytes a day are not logged, so" in made
    for table in ("rebalances", "rules", "violations", "unused_topics"):
        assert f'data-table="{table}"' not in made
    assert "<dd>0</dd><dt>errors</dt>" not in made


def test_the_list_of_clients_calls_no_refused_client_fine(hostile_warehouse: Path, data: dict[str, Any]) -> None:
    scope = scope_of(hostile_warehouse)
    verdict = impact(scope, TARGET, True)
    before = words(data)
    fine = scope.query(
        f"SELECT {', '.join(CLIENT)} FROM {{client_verdicts}} WHERE release = '{TARGET}' AND verdict = 'accepted'"
    ).dicts()
    unknown = dict.fromkeys(CLIENT) | {"cluster": fine[0]["cluster"], "remote_host": None, "is_known": False}
    verdict.refused_senders = [fine[0] | {"remote_host": "h", "is_known": True}]
    assert words(data_of(contents.report(scope, verdict))) == before - Counter(["fine"]) + Counter(["refused already"])
    verdict.refused_senders.append(unknown)
    refused = words(data_of(contents.report(scope, verdict)))
    assert refused["refused already"] == 1
    assert refused["fine"] + refused["fine as far as seen"] == before["fine"] - 1
    assert refused["fine as far as seen"] == sum(one["cluster"] == unknown["cluster"] for one in fine[1:])


def words(data: dict[str, Any]) -> Counter[str]:
    table = data["tables"]["clients"]
    (place,) = [number for number, column in enumerate(table["columns"]) if column["kind"] == "badge"]
    return Counter(row[place] for row in table["rows"])
