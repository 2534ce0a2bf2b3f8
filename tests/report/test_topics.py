"""The page's lists in which client ids that differ by numbers are one client: by topic, and of activity."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.activity import WAITING
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.report.table import read
from kafka_clientinfo.tables.spec import CLIENT
from tests.frames import START, at
from tests.questions.activity_on_disk import activity, sent
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse
from tests.test_dashboard import DATASETS

UUIDS = ("11111111-2222-3333-4444-555555555555", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee")


def used(client_id: str | None, **given: Any) -> dict[str, Any]:
    row = {
        "cluster": "c", "broker": "b", "topic": "t", "operation": "produce", "principal": "User:p",
        "client_id": client_id,
    }  # fmt: skip
    row |= {
        "client_software_name": "kgo", "client_software_version": "1", "requests": 2, "bytes": 10, "day": START.date(),
    }  # fmt: skip
    return row | {"first_at": START, "last_at": at(60)} | given


def test_client_ids_that_differ_by_numbers_or_uuids_are_one_client(tmp_path: Path) -> None:
    names = ("cron-7", "cron-17", "cron-x", *(f"job-{one}" for one in UUIDS), None, "")
    rows = [used(name) for name in names] + [used("cron-7", operation="fetch"), used("cron-17", principal="User:q")]
    seen = {"first_seen": START, "last_seen": at(60), "host_count": 3, "connections": 1, "requests": 1}
    inventory = {tuple(row[name] for name in CLIENT): {name: row[name] for name in CLIENT} | seen for row in rows}
    ledger = [{"file_id": "f", "cluster": "c", "broker": "b", "path": "p"}]
    tables = {"topic_usage": rows, "client_inventory": list(inventory.values()), "ingested_files": ledger}
    scope = scope_of(write_warehouse(tmp_path / "w", tables))
    table = read(scope, "users_of_topics")
    ((_, producers, consumers, *_),) = read(scope, "topics").rows
    assert (producers, consumers) == (6, 1)
    shown = [(row[1], row[2], row[3], row[5], row[6]) for row in table.rows]
    assert sorted(shown, key=str) == [
        ("fetch", ["cron-7"], "User:p", 3, 2),
        ("produce", ["(empty)"], "User:p", 3, 2),
        ("produce", ["(none)"], "User:p", 3, 2),
        ("produce", ["cron-17", "cron-7"], "User:p", None, 4),
        ("produce", ["cron-17"], "User:q", 3, 2),
        ("produce", ["cron-x"], "User:p", 3, 2),
        ("produce", [f"job-{one}" for one in UUIDS], "User:p", None, 4),
    ]


def test_the_activity_of_one_program_is_one_row_with_the_times_of_the_slowest(tmp_path: Path) -> None:
    rows = [
        sent(1.0, 1.0, client_id="cron-1"),
        sent(9.0, client_id="cron-2"),
        sent(500.0, client_id="cron-2", api="FETCH"),
    ]
    inventory = [{name: row.get(name) for name in CLIENT} for row in rows[:2]]
    scope = scope_of(activity(tmp_path / "w", rows, client_inventory=inventory))
    (_, (ids, _, api, requests, *_, cluster)) = read(scope, "slow").rows
    assert (ids, api, requests, cluster) == (["cron-1", "cron-2"], "METADATA", 3, "c")
    of_slowest = "SELECT p99_ms FROM {who_is_slow} AS s WHERE client_id = 'cron-2' AND api_name = 'METADATA'"
    assert read(scope, "slow").rows[1][5] == scope.query(of_slowest).rows[0][0]
    ids, _, api, requests, most, *_ = read(scope, "floods").rows[0]
    assert (ids, api, requests, most) == (["cron-1", "cron-2"], "METADATA", 3, 2)


LONG = 5173.0
QUICK = [0.1] * 197
SLOW: dict[str, tuple[list[float], float | None, float, bool]] = {
    "a wait": ([LONG], 0.0, LONG, False),
    "a wait of a log that does not say who was throttled": ([LONG], None, LONG, False),
    "a wait that a quota delayed": ([LONG], 1.0, LONG, True),
    "nearly 100 ms before a wait": ([LONG], 0.0, LONG - 99, False),
    "100 ms before a wait": ([LONG], 0.0, LONG - 100, True),
    "none that waits": ([50.0], 0.0, 0.0, True),
    "more than 1 % that wait": ([*QUICK, LONG, LONG, LONG], 0.0, 3 * LONG, False),
    "more than 1 % that work": ([*QUICK, 90.0, 90.0, 90.0], 0.0, 40.0, True),
    "as many, in times of which half may be waits": ([*QUICK, 90.0, 90.0, 90.0], 0.0, 50.0, False),
}
"""Times of requests, by how much each was throttled, the sum of their waits, and whether they are among the slow ones."""


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    rows = [
        sent(*took, client_id=name, api=api, throttle=throttle, remote_time_ms_sum=waited)
        for name, (took, throttle, waited, _) in SLOW.items()
        for api in WAITING
    ]
    rows.append(sent(9.0))
    return scope_of(activity(tmp_path_factory.mktemp("waits"), rows, client_inventory=[]))


@pytest.mark.parametrize("query", ["report", "dashboard"])
def test_who_only_waits_for_data_or_members_is_not_slow(waits: Scope, query: str) -> None:
    if query == "report":
        found = {(name, api) for (name,), _, api, *_ in read(waits, "slow").rows}
    else:
        asked = waits.query(DATASETS["slow"].replace("who_is_slow", "{who_is_slow} AS s")).dicts()
        found = {(row["client_id"], row["api_name"]) for row in asked}
    slow = {(name, api) for name, (*_, is_slow) in SLOW.items() for api in WAITING if is_slow}
    assert found == {("app", "METADATA"), *slow}
