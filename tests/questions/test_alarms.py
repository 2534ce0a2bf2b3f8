"""What rings after a run: each kind of alarm, and what looks the same and is none."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.alarms import KINDS, alarms, known_before
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.warehouse.state import State
from tests.builders import NOON
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse

TARGET = "4.0.1"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BEFORE, AFTER = NOON - HOUR, NOON + HOUR
"""Times before and after the end of the run before, which is NOON."""
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
GIVEN = ("client_inventory", "upgrade_impact", "refused_requests", "topic_usage", "known_topics")


def scope(root: Path, rows: Rows) -> Scope:
    clients = [*rows.get("client_inventory", ()), *rows.get("upgrade_impact", ())]
    uses = [
        {"broker": "b1", "connection_id": str(number), "role": "client", "first_at": row["first_seen"], **row}
        for number, row in enumerate(clients)
    ]
    failed = [
        {"run": 1 + (row["first_at"] > NOON), "byte_offset": number, "reason": "unsupported_version", **row}
        for number, row in enumerate(rows.get("refused_requests", ()))
    ]
    stored = {"api_usage": uses, "failed_requests": failed}
    return scope_of(write_warehouse(root, {**dict.fromkeys(GIVEN, ()), **stored, **rows}))


def client(client_id: str | None, first: datetime, name: str = "kgo", last: datetime | None = None) -> dict[str, Any]:
    who = {"cluster": "c", "principal": "User:p", "client_id": client_id, "client_software_name": name}
    return who | {"client_software_version": "1", "first_seen": first, "last_seen": last or first}


def breaking(
    client_id: str,
    first: datetime,
    version: int = 2,
    reason: str | None = "below_range",
    name: str = "kgo",
    **given: Any,
) -> dict[str, Any]:
    use = {"api_key": 1, "api_name": "FETCH", "api_version": version, "host_list": ["10.0.0.1"]}
    return client(client_id, first, name) | use | {"refused_by": {TARGET: reason} if reason else {}} | given


def refused(first: datetime, api: str | None = "PRODUCE", version: int | None = 2, host: Any = "h") -> dict[str, Any]:
    where = {"cluster": "c", "broker": "b3", "remote_host": host, "first_at": first, "last_at": AFTER}
    return where | {"api_name": api, "api_version": version, "requests": 215}


def log(broker: str, until: datetime, is_covered: bool = True, whole_until: datetime | None = None) -> dict[str, Any]:
    periods = [{"whole_from": BEFORE, "whole_until": whole_until or until, "max_idle_ms": 1}]
    coverage = {
        "covered_from": BEFORE, "covered_until": until if is_covered else None, "starts": [], "whole_periods": periods,
    }  # fmt: skip
    own = {"file_id": broker, "cluster": "c", "broker": broker, "path": broker, "log_coverage": coverage}
    return own | {"last_logged_at": until, "ingested_at": until}


def topic(operation: str, last: datetime, name: str = "orders") -> dict[str, Any]:
    return {"cluster": "c", "topic": name, "operation": operation, "first_at": last, "last_at": last}


def used(read: datetime, covered_from: datetime = AFTER - 3 * DAY) -> dict[str, list[dict[str, Any]]]:
    """A topic that is written, and was read last at a time; from when on the logs cover it."""
    covered = {"cluster": "c", "topic": "orders", "covered_from": covered_from, "covered_until": AFTER}
    return {"topic_usage": [topic("produce", AFTER), topic("fetch", read)], "known_topics": [covered]}


STATE = State(built_until=NOON, rows={"requests": 1}).as_json


def runs_that_read(*reads: tuple[int, str, str, datetime]) -> dict[str, list[dict[str, Any]]]:
    """Runs that read a request each of a cluster's broker at a time, with what sums them up."""
    columns = ("run", "cluster", "broker", "logged_at")
    requests = [
        dict(zip(columns, read, strict=True)) | {"file_id": read[2], "byte_offset": number}
        for number, read in enumerate(reads)
    ]
    return {
        "runs": [{"run": run, "requests": 1, "state": STATE} for run in sorted({run for run, *_ in reads})],
        "requests": requests,
        "client_activity_parts": [{"run": run, "cluster": cluster, "requests": 1} for run, cluster, *_ in reads],
    }


def breaks(who: str, version: str = "FETCH v2", owner: str = "") -> str:
    return f"breaks: {who} (User:p) would break at Kafka {TARGET}: {version}, from 10.0.0.1{owner}"


GAP = "gap: the log of b1 no longer holds every request: its level fell to INFO, or it is filtered"
CASES: Mapping[str, tuple[Rows, list[str]]] = {
    "a new client that breaks": (
        {"upgrade_impact": [breaking("a", AFTER), breaking("a", AFTER, 3)]}, [breaks("a", "FETCH v2, FETCH v3")],
    ),
    "ids of one program, and who owns it": (
        {"upgrade_impact": [breaking("app-1", AFTER), breaking("app-2", AFTER, 3), breaking("owned", AFTER)]},
        [breaks("app-1 and an id like it", "FETCH v2, FETCH v3"), breaks("owned", owner="; owner: All, Payments")],
    ),
    "one that broke before": ({"upgrade_impact": [breaking("a", BEFORE), breaking("a", AFTER, 3)]}, []),
    "the next start of a job that breaks": ({"upgrade_impact": [breaking("cron-17", BEFORE), breaking("cron-18", AFTER)]}, []),
    "pods of one program": (
        {"upgrade_impact": [breaking(f"billing-{end}", AFTER) for end in ("7f9c6d5b8-5sl68", "7f9c6d5b8-x9k2m", "5d8f7c9b4-zz4hq")]},
        [breaks("billing-5d8f7c9b4-zz4hq and 2 ids like it")],
    ),
    "the pods of the next rollout": (
        {"upgrade_impact": [breaking("billing-7f9c6d5b8-5sl68", BEFORE), breaking("billing-5d8f7c9b4-zzkhq", AFTER, 3)]}, [],
    ),
    "words that look like pods": (
        {"upgrade_impact": [breaking("order-bcdfgh-https", BEFORE), breaking("order-bcdfgh-sftps", AFTER)]},
        [breaks("order-bcdfgh-sftps")],
    ),
    "an id with another number in a name": (
        {"upgrade_impact": [breaking("j01022-c1", BEFORE), breaking("j332-c1", AFTER, 3)]}, [breaks("j332-c1", "FETCH v3")],
    ),
    "one like it of another library": (
        {"upgrade_impact": [breaking("app-1", BEFORE), breaking("app-2", AFTER, 3, name="sarama")]}, [breaks("app-2", "FETCH v3")],
    ),
    "one like it of a library that is not known": (
        {"upgrade_impact": [breaking("app-1", BEFORE), breaking("app-2", AFTER, 3, name="unknown")]}, [],
    ),
    "one like it that has another owner": (
        {"upgrade_impact": [breaking("own-1", BEFORE), breaking("own-2", AFTER), breaking("own-3", AFTER)]},
        [breaks("own-3", owner="; owner: Others")],
    ),
    "a client in a log that comes late": (
        {
            **runs_that_read((1, "c", "b1", NOON), (2, "c", "b3", BEFORE - HOUR), (2, "c", "b1", AFTER)),
            "upgrade_impact": [breaking("late", BEFORE - HOUR, broker="b3"), breaking("old", BEFORE - HOUR)],
        },
        [breaks("late")],
    ),
    "a refusal in a record that had to wait": (
        {"refused_requests": [refused(BEFORE) | {"run": 2}]}, ["refused: b3 refuses PRODUCE v2 from h: 215 requests so far"],
    ),
    "a log that stops after those that go on": ({"ingested_files": [log("b1", AFTER), log("b2", AFTER + HOUR)]}, []),
    "many clients without an owner": (
        {"client_inventory": [client(name, AFTER) for name in "abcde"]},
        ["unowned: a (User:p), b (User:p), c (User:p) and 2 more are new, and have no owner"],
    ),
    "a new client that does not break": ({"upgrade_impact": [breaking("a", AFTER, reason=None)]}, []),
    "a client without an owner": ({"client_inventory": [client("free", AFTER)]}, ["unowned: free (User:p) is new, and has no owner"]),
    "the next pod of a set": ({"client_inventory": [client("agent-x9k2m", BEFORE, last=AFTER), client("agent-zzkhq", AFTER)]}, []),
    "one that was there": ({"client_inventory": [client("free", BEFORE, last=AFTER)]}, []),
    "a client with an owner": ({"client_inventory": [client("owned", AFTER)]}, []),
    "a client that loses its name": (
        {"client_inventory": [client("a", BEFORE), client("a", AFTER, "unknown")]},
        ["unknown: a (User:p) named kgo before, and no longer names its software"],
    ),
    "one that names itself beside": ({"client_inventory": [client("a", BEFORE, last=AFTER), client("a", AFTER, "unknown")]}, []),
    "one that never named itself": ({"client_inventory": [client("a", BEFORE, "unknown"), client("a", AFTER, "unknown")]}, []),
    "refusals": (
        {"refused_requests": [refused(AFTER), refused(AFTER, None, None), refused(AFTER, host=None), refused(BEFORE, "FETCH")]},
        [
            f"refused: b3 refuses {what}: 215 requests so far"
            for what in ("PRODUCE v2 from an unknown host", "PRODUCE v2 from h", "unknown API from h")
        ],
    ),
    "a log that stops": (
        {"ingested_files": [log("b1", AFTER), log("b2", NOON)]}, ["stopped: the log of b2 ends, and others of the cluster go on"],
    ),
    "a silent log at INFO": ({"ingested_files": [log("b1", AFTER), log("b2", NOON, is_covered=False, whole_until=BEFORE)]}, []),
    "a log that falls to INFO": ({"ingested_files": [log("b1", AFTER, is_covered=False, whole_until=NOON)]}, [GAP]),
    "a log at DEBUG that holds only what INFO logs, for less than an hour": (
        {"ingested_files": [log("b1", AFTER) | {"last_logged_at": AFTER + HOUR}]}, [],
    ),
    "and for longer": ({"ingested_files": [log("b1", NOON) | {"last_logged_at": NOON + 2 * HOUR}]}, [GAP]),
    "one that fell long ago": ({"ingested_files": [log("b1", AFTER, is_covered=False, whole_until=BEFORE)]}, []),
    "a topic that nobody reads any more": (
        {**used(AFTER - DAY), "topic_usage": [*used(AFTER - DAY)["topic_usage"], topic("commit", AFTER - 2 * DAY)]},
        ["reader: topic orders is written, and nobody reads it any more"],
    ),
    "one that nobody reads since long": (used(NOON - DAY), []),
    "one that was read within a day": (used(AFTER - DAY + HOUR / 2), []),
    "one that the logs do not cover": (used(AFTER - DAY, AFTER - HOUR), []),
    "one that is neither written": ({**used(AFTER), "topic_usage": [topic("fetch", AFTER - DAY)]}, []),
}  # fmt: skip
RUNS = runs_that_read((1, "c", "b1", NOON), (1, "c", "b2", NOON + HOUR / 2), (2, "c", "b1", AFTER))
"""Two runs that read, of which the second brought nothing of b2."""
OWNERS = {"owned": ["All", "Payments"], "own-1": ["Own"], "own-2": ["Own"], "own-3": ["Others"]}
OWNED = {(cluster, "User:p", name, "kgo", "1"): its for cluster in CASES for name, its in OWNERS.items()}


@pytest.fixture(scope="module")
def of_cases(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """A cluster for each case."""
    every: dict[str, list[Mapping[str, Any]]] = {}
    for cluster, (rows, _) in CASES.items():
        for name, its in ({**RUNS, **rows} | {"runs": ()}).items():
            own = [row | {"cluster": cluster, "file_id": f"{cluster} {row.get('broker')}"} for row in its]
            every.setdefault(name, []).extend(own)
    reads = runs_that_read((2, "new", "x", AFTER))
    every["requests"] += reads["requests"]
    every["client_activity_parts"] += reads["client_activity_parts"]
    return scope(tmp_path_factory.mktemp("cases") / "w", every | {"runs": RUNS["runs"]})


@pytest.fixture(scope="module")
def rung(of_cases: Scope) -> dict[str, list[str]]:
    """What rings of each cluster."""
    since = known_before(of_cases)
    assert since == dict.fromkeys(CASES, NOON)
    found: dict[str, list[str]] = {name: [] for name in CASES}
    for alarm in alarms(of_cases, since, TARGET, OWNED, False):
        found[alarm.cluster].append(f"{alarm.kind}: {alarm.text}")
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_new_rings(name: str, rung: dict[str, list[str]]) -> None:
    assert rung[name] == CASES[name][1]


def test_the_view_has_what_rings_but_for_owners(of_cases: Scope) -> None:
    in_view = of_cases.tables.query(
        f"SELECT kind, cluster, first_seen, what FROM {{what_changed}} AS w WHERE coalesce(release, '{TARGET}') = '{TARGET}'"
    )
    rung = alarms(of_cases, known_before(of_cases), TARGET, None, False)
    assert sorted(map(tuple, in_view), key=lambda row: (KINDS.index(row[0]), *row[1:])) == [tuple(one) for one in rung]


@pytest.mark.parametrize(
    ("cluster", "is_asked"),
    [("other", True), ("a log that stops", True), ("a client without an owner", False)],
    ids=["of a cluster that is new", "of logs that should go on, of a time of one's own", "of owners, without rules on them"],
)  # fmt: skip
def test_nothing_rings(cluster: str, is_asked: bool, of_cases: Scope) -> None:
    assert alarms(of_cases, {cluster: NOON}, TARGET, None, is_asked) == []


def test_a_time_of_ones_own_rings(of_cases: Scope) -> None:
    kinds = [alarm.kind for alarm in alarms(of_cases, {"refusals": NOON, "and for longer": NOON}, TARGET, OWNED, True)]
    assert kinds == ["refused"] * 3 + ["gap"]


def test_the_two_newest_runs_of_each_cluster_are_compared(tmp_path: Path) -> None:
    reads = runs_that_read(
        (1, "c", "b1", AFTER), (2, "c", "b1", NOON), (2, "c", "b2", BEFORE), (3, "d", "x", BEFORE), (4, "c", "b1", AFTER),
        (5, "d", "x", NOON), (6, "e", "x", NOON),
    )  # fmt: skip
    assert known_before(scope(tmp_path / "w", reads)) == {"c": BEFORE, "d": BEFORE}
    assert known_before(scope(tmp_path / "v", {})) == {}


@pytest.mark.parametrize(("runs", "rings"), [(1, False), (2, False), (3, True), (4, False)])
def test_a_log_stops_once_when_another_goes_on_after_its_end(runs: int, rings: bool, tmp_path: Path) -> None:
    ends = (BEFORE - HOUR, BEFORE, AFTER, AFTER + HOUR)[:runs]
    reads = runs_that_read((1, "c", "b2", NOON), *((place, "c", "b1", at) for place, at in enumerate(ends, 1)))
    asked = scope(tmp_path / "w", {**reads, "ingested_files": [log("b1", ends[-1]), log("b2", NOON)]})
    rung = alarms(asked, known_before(asked), TARGET, None, False)
    assert [alarm.kind for alarm in rung] == ["stopped"] * rings


def test_a_run_that_read_server_log_only_brings_refusals_only(tmp_path: Path) -> None:
    rows = {
        **runs_that_read((1, "c", "b1", BEFORE), (2, "c", "b1", AFTER)),
        "runs": [{"run": run, "requests": 1, "state": STATE} for run in (1, 2, 3)],
        "refused_requests": [refused(BEFORE) | {"run": 3}],
    }
    asked = scope(tmp_path / "w", {**rows, "upgrade_impact": [breaking("a", AFTER)]})
    rung = alarms(asked, known_before(asked), TARGET, None, False)
    assert [alarm.kind for alarm in rung] == ["refused"]


@pytest.mark.parametrize(
    ("parts", "last_run_read", "rings"), [((1, 2), False, False), ((2, 2), True, True), ((3, 3), False, False)]
)
def test_news_ring_after_the_run_that_read_it(
    parts: tuple[int, int], last_run_read: bool, rings: bool, tmp_path: Path
) -> None:
    """A later run that read no request brings nothing, nor does one that only builds; one that reads and builds anew does."""
    runs = [
        {"run": run, "requests": 1, "state": STATE, "began": at, "ended": at + HOUR / 2}
        for run, at in ((1, BEFORE), (2, AFTER), (3, AFTER + HOUR))[: 2 if last_run_read else 3]
    ]
    rows = {
        **runs_that_read((1, "c", "b1", BEFORE), (2, "c", "b1", AFTER)),
        "runs": runs,
        "client_activity_parts": [{"run": run, "cluster": "c", "requests": 1} for run in parts],
        "ingested_files": [log("b1", AFTER) | {"ingested_at": runs[-1]["began"]}],
        "upgrade_impact": [breaking("a", AFTER)],
    }
    asked = scope(tmp_path / "w", rows)
    rung = alarms(asked, known_before(asked), TARGET, None, False)
    assert [alarm.kind for alarm in rung] == ["breaks"] * rings
