"""What clients do over time: figures by each key, percentiles within their bound, buckets in scope, steps of time."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.concerns.activity import client_activity_parts
from kafka_clientinfo.concerns.activity.client_activity_parts import TIMES
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions import activity
from kafka_clientinfo.questions.activity import BY, WAITING, Question, Timeline
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.queries import Tables
from kafka_clientinfo.tables.views import views
from tests.amounts import examples
from tests.asking import asked
from tests.commands.fleet_on_disk import HOSTILE
from tests.engines import duckdb_session, on
from tests.frames import START, at, frame, request
from tests.report.tables_on_disk import SparkTablesOnDisk

from .activity_on_disk import activity as warehouse
from .activity_on_disk import opened, sent

ROWS = (
    *(sent(1.0, 2.0, 30.0, minute=minute) for minute in range(3)),
    sent(0.05, 5.0, api="FETCH", minute=61, throttle=2.0, broker="b2"),
    sent(200.0, client_id="slow", minute=125, errors={3: 2, 6: 1}, client_software_name="unknown"),
    sent(*[4.0] * 10, client_id="busy", principal="User:b", errors={29: 1}, broker="b2"),
    sent(7.0, client_id=None, principal=None, throttle=None, answered=False, api="PRODUCE"),
    sent(7.0, client_id=HOSTILE, cluster="d", throttle=1.0),
    opened(3),
    opened(2, hour=1),
    opened(4, client_id="only connects"),
)


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.long)])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Tables]:
    """Return a function that writes rows and reads them with an engine."""

    def read(*rows: Mapping[str, Any], **tables: Any) -> Tables:
        root = warehouse(tmp_path_factory.mktemp("w"), rows, **tables)
        if request.param == "spark":
            return SparkTablesOnDisk(request.getfixturevalue("spark"), str(root))
        return LocalTables(root)

    return read


@pytest.fixture(scope="module")
def scope(tables: Callable[..., Tables]) -> Scope:
    return Scope(tables(*ROWS))


@pytest.fixture(scope="module")
def of_cases(tables: Callable[..., Tables]) -> Tables:
    """A cluster for each case of `LINES` and `NOTHING`, and for other tests."""
    clusters = {name: [*its, opened(1, hour=50)] for name, (its, *_) in LINES.items()}
    clusters |= {name: its for name, (its, *_) in NOTHING.items()} | OTHERS
    return tables(*(row | {"cluster": cluster} for cluster, its in clusters.items() for row in its))


def question(scope: Scope, by: str = "client", top: str = "requests", owners: Any = None) -> Question:
    return Question(by, top, activity.owners_of_clients(scope, owners or {}))


def answer(scope: Scope, **asked: Any) -> list[dict[str, Any]]:
    return scope.query(question(scope, **asked).statement).dicts()


def figures(scope: Scope, *names: str, **asked: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in answer(scope, **asked)]


def test_rows_of_a_client_add_up(scope: Scope) -> None:
    [row] = [row for row in answer(scope) if row["client_id"] == "app"]
    assert row == {
        "cluster": "c", "principal": "User:ANONYMOUS", "client_id": "app", "requests": 11, "connections_opened": 5,
        "errors": 0, "p50_ms": 3.2, "p99_ms": 30.0, "max_ms": 30.0, "mean_ms": 9.459, "throttled": 2, "throttle_ms": 4.0,
        "first_bucket": START, "last_bucket": at(3600),
    }  # fmt: skip


CLIENTS = {"app": 11, "busy": 10, "slow": 1, None: 1, HOSTILE: 1, "only connects": 0}
BY_KEY: dict[str, tuple[str, set[tuple[Any, int]]]] = {
    "client": ("client_id", set(CLIENTS.items())),
    "principal": ("principal", {("User:ANONYMOUS", 12), ("User:b", 10), (None, 1), ("User:ANONYMOUS", 1)}),
    "software": ("client_software_name", {("kgo", 22), ("unknown", 1), ("kgo", 1)}),
    "api": ("api_name", {("METADATA", 20), ("FETCH", 2), ("PRODUCE", 1), ("METADATA", 1)}),
}


@pytest.mark.parametrize("by", BY_KEY)
def test_each_key_has_its_rows(scope: Scope, by: str) -> None:
    name, expected = BY_KEY[by]
    rows = figures(scope, name, "requests", by=by)
    assert set(rows) == expected
    assert len(rows) == len(expected)
    assert [requests for _, requests in rows] == sorted((requests for _, requests in rows), reverse=True)


def test_only_rows_by_api_lack_connections(scope: Scope) -> None:
    lacking = {by for by in BY if "connections_opened" not in scope.query(Question(by).statement).names}
    assert lacking == {"api"}


OTHERS = {
    "errors": [
        sent(1.0, errors={6: 1}), sent(1.0, minute=70, errors={6: 1, 3: 3}), sent(1.0, minute=140, errors={6: 2}),
        sent(1.0, client_id="new", api="FETCH", errors={9999: 1}), sent(1.0, client_id="none", api="PRODUCE", errors={}),
    ],
    "waits": [
        *(sent(3000.0, client_id="member", api=api) for api in WAITING), sent(4.0, client_id="member"), sent(9.0, client_id="slow"),
    ],
    "long": [sent(1.0, requests_by_minute=[(90, 1)])],
    "only connects": [opened(1)],
}  # fmt: skip


@pytest.mark.parametrize("by", ["client", "api", "owner"])
def test_the_most_frequent_error_is_named(of_cases: Tables, by: str) -> None:
    scope = Scope(of_cases, Filters(cluster="errors"))
    (first, *others) = answer(scope, by=by, top="errors")
    assert (first["most_frequent_error"], first["errors"]) == ("NOT_LEADER_OR_FOLLOWER", 8 if by == "owner" else 7)
    assert [row["most_frequent_error"] for row in others] == ([] if by == "owner" else ["9999"])


def test_who_waits_for_others_is_not_slow(of_cases: Tables) -> None:
    scope = Scope(of_cases, Filters(cluster="waits"))
    assert figures(scope, "client_id", "p99_ms", top="p99") == [("slow", 9.0), ("member", 4.0)]
    assert figures(scope, "client_id", "p99_ms") == [("member", 4.0), ("slow", 9.0)]
    by_api = figures(scope, "api_name", "p99_ms", by="api", top="p99")
    assert (by_api[0], set(by_api[1:])) == (("METADATA", 9.0), {(api, None) for api in WAITING})
    assert dict(figures(scope, "api_name", "p99_ms", by="api"))["FETCH"] == 3000.0


@pytest.mark.parametrize("top", ["requests", "p99"])
def test_brokers_own_requests_are_nobodys(tables: Callable[..., Tables], top: str) -> None:
    """A client that uses a broker's client id stays, with what brokers sent under it."""
    ids = ((None, "broker"), ("1", "broker"), ("shared", "broker"), ("shared", "client"), ("2", "forwarding"))
    key = {"cluster": "c", "broker": "b", "opened_at": START, "last_request_at": START, "principal": "User:ANONYMOUS"}
    connections = [
        key | {"connection_id": f"{place}", "opened_seq": 0, "client_id": name, "role": role}
        for place, (name, role) in enumerate(ids)
    ]
    names = (None, "1", "2", "shared", "app")
    rows = [sent(5.0, client_id=name, api=api) for name in names for api in ("METADATA", "HEARTBEAT")]
    scope = Scope(tables(*rows, connections=connections))
    assert {name for (name,) in figures(scope, "client_id", top=top)} == {"shared", "app"}
    assert figures(scope, "requests", by="api", top=top) == [(2,), (2,)]
    assert figures(scope, "requests", by="principal", top=top) == [(4,)]
    for view in ("who_is_slow", "who_floods"):
        assert {name for (name,) in scope.query(f"SELECT DISTINCT client_id FROM {{{view}}} AS v")} == {"shared", "app"}


def test_what_no_log_states_is_null(scope: Scope) -> None:
    [row] = [row for row in answer(scope) if row["client_id"] is None]
    assert (row["errors"], row["throttled"], row["throttle_ms"]) == (None, None, None)
    [row] = [row for row in answer(scope) if row["client_id"] == "only connects"]
    assert (row["p50_ms"], row["p99_ms"], row["max_ms"], row["mean_ms"]) == (None, None, None, None)


def test_a_client_counts_for_each_of_its_owners(scope: Scope) -> None:
    owners = {
        ("c", "User:ANONYMOUS", "app"): [0, 1], ("c", "User:b", "busy"): [1], ("d", "User:ANONYMOUS", HOSTILE): [2],
        ("c", None, None): [2],
    }  # fmt: skip
    rows = figures(scope, "owner", "requests", "connections_opened", "p99_ms", by="owner", owners=owners)
    assert rows == [(1, 21, 5, 30.0), (0, 11, 5, 30.0), (2, 2, 0, 7.0), (None, 1, 4, 200.0)]
    assert figures(scope, "owner", "requests", by="owner") == [(None, 24)]


HOURS = [sent(1.0, minute=60 * hour, client_id=f"{hour}") for hour in range(4)]
SPANS: dict[str, tuple[dict[str, float], list[str], int]] = {
    "everything": ({}, ["0", "1", "2", "3"], 60),
    "from the start of a bucket": ({"since": 1}, ["1", "2", "3"], 60),
    "from inside a bucket": ({"since": 1.5}, ["1", "2", "3"], 60),
    "from just before a bucket's end": ({"since": 2 - 1e-6 / 3600}, ["1", "2", "3"], 60),
    "to the start of a bucket": ({"until": 2}, ["0", "1"], 60),
    "to just after a bucket's start": ({"until": 2 + 1e-6 / 3600}, ["0", "1", "2"], 60),
    "inside a bucket": ({"since": 1.25, "until": 1.5}, ["1"], 60),
    "between buckets of half an hour": ({"since": 1.5, "until": 2}, [], 30),
    "buckets of a day": ({"since": 3.5}, ["0", "1", "2", "3"], 1440),
}


@pytest.fixture(scope="module")
def of_hours(tables: Callable[..., Tables]) -> Tables:
    return tables(*HOURS)


@pytest.mark.parametrize(("hours", "clients", "minutes"), SPANS.values(), ids=SPANS)
def test_a_bucket_counts_if_a_part_does(
    of_hours: Tables, hours: dict[str, float], clients: list[str], minutes: int
) -> None:
    times = {name: START + timedelta(microseconds=round(hour * 3.6e9)) for name, hour in hours.items()}
    scope = Scope(of_hours, Filters(**times), minutes)
    assert sorted(client for (client,) in figures(scope, "client_id")) == clients


def steps(start: float, minutes: int, count: int, in_minutes: bool = True) -> Timeline:
    return Timeline(at(start * 60), minutes, count, in_minutes)


LINES: dict[str, tuple[list[dict[str, Any]], int, int, Timeline, list[int]]] = {
    "one minute": ([sent(1.0, 1.0)], 60, 24, steps(0, 1, 1), [2]),
    "some minutes": ([sent(1.0, minute=5), sent(1.0, 1.0, minute=8)], 60, 24, steps(5, 1, 4), [1, 0, 0, 2]),
    "brokers and APIs add up": (
        [sent(1.0, minute=5), sent(1.0, minute=6, broker="b2"), sent(1.0, minute=5, api="FETCH")], 60, 24, steps(5, 1, 2), [2, 1],
    ),
    "over two buckets": ([sent(1.0, minute=55), sent(1.0, minute=64)], 60, 6, steps(54, 2, 6), [1, 0, 0, 0, 0, 1]),
    "steps of half an hour": ([sent(1.0, minute=59), sent(1.0, minute=239)], 60, 8, steps(30, 30, 7), [1, 0, 0, 0, 0, 0, 1]),
    "as many buckets as steps": (
        [sent(1.0, minute=60 * hour) for hour in (0, 0, 3)], 60, 4, steps(0, 60, 4, False), [2, 0, 0, 1],
    ),
    "more buckets than steps": (
        [sent(1.0, minute=60 * hour) for hour in (0, 1, 4)], 60, 3, steps(0, 120, 3, False), [2, 0, 1],
    ),
    "buckets of a week": ([sent(1.0), sent(1.0, bucket=at(7 * 86_400))], 10_080, 24, steps(0, 10_080, 2, False), [1, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_requests_over_time(of_cases: Tables, name: str) -> None:
    _, minutes, most, expected, numbers = LINES[name]
    scope = Scope(of_cases, Filters(cluster=name), minutes)
    found = activity.timeline(scope, most)
    assert found == expected
    assert Question().over_time(scope, found) == {(name, "User:ANONYMOUS", "app"): numbers}


@pytest.mark.parametrize("by", BY)
def test_only_the_rows_that_are_shown_have_a_line(scope: Scope, by: str) -> None:
    asked = question(scope, by, owners={("c", "User:b", "busy"): [0]})
    line = activity.timeline(scope, 24)
    assert line is not None
    every = asked.over_time(scope, line)
    rows = scope.query(asked.statement).dicts()
    key = BY[by]
    assert {tuple(row[name] for name in key): row["requests"] for row in rows if row["requests"]} == {
        of: sum(numbers) for of, numbers in every.items()
    }
    first = tuple(rows[0][name] for name in key)
    assert asked.over_time(scope, line, 1) == {first: every[first]}


def test_longer_buckets_are_steps_and_without_requests_there_is_none(
    of_cases: Tables,
) -> None:
    assert activity.timeline(Scope(of_cases, Filters(cluster="long")), 24) == steps(0, 60, 1, False)
    assert activity.timeline(Scope(of_cases, Filters(cluster="only connects")), 24) is None


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(1, "1 minute"), (30, "30 minutes"), (60, "1 hour"), (90, "90 minutes"), (2_880, "2 days"), (10_080, "1 week")],
)
def test_a_step_is_said_in_words(minutes: int, words: str) -> None:
    assert Timeline(START, minutes, 2, True).words == words
    assert Timeline(START, minutes, 2, True).end == START + timedelta(minutes=2 * minutes)


NOTHING: dict[str, tuple[list[dict[str, Any]], dict[str, str], str, str]] = {
    "no client": ([sent(1.0)], {"client": "x"}, "p99", "No request fits --cluster no client --client x"),
    "not throttled": ([sent(1.0)], {}, "throttle", "Nobody was throttled"),
    "no throttle time logged": ([sent(1.0, throttle=None)], {}, "throttle", "The logs do not say"),
    "no errors": ([sent(1.0)], {}, "errors", "No response has an error code."),
    "no response logged": ([sent(1.0, answered=False)], {}, "errors", "No response is logged"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_an_empty_answer_says_why(of_cases: Tables, name: str) -> None:
    _, filters, top, says = NOTHING[name]
    scope = Scope(of_cases, Filters(cluster=name, **filters))
    assert answer(scope, top=top) == []
    assert activity.nothing(scope, top).startswith(says)


@pytest.mark.parametrize(
    ("since", "until", "says"),
    [
        (None, None, None), ("02:00", "04:00", None), ("02:30", None, " from 2026-11-21 02:00 UTC."),
        (None, "03:01", " to 2026-11-21 04:00 UTC."), ("02:00", "03:01", " from 2026-11-21 02:00 to 2026-11-21 04:00 UTC."),
        ("02:59", "04:00", " from 2026-11-21 02:00 to 2026-11-21 04:00 UTC."),
    ],
)  # fmt: skip
def test_times_inside_buckets_are_named(since: str | None, until: str | None, says: str | None) -> None:
    times = {name: datetime.fromisoformat(f"2026-11-21T{text}").replace(tzinfo=UTC) for name, text in
             (("since", since), ("until", until)) if text is not None}  # fmt: skip
    found = activity.whole_buckets(Scope(None, Filters(**times)))  # type: ignore[arg-type]
    assert found == (says and f"The figures are those of whole buckets of 60 minutes:{says}")


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with duckdb_session() as opened_session:
        yield opened_session


TOOK = st.one_of(
    st.integers(0, 3_000).map(lambda micros: micros / 1000),
    st.integers(0, 1_000_000_000).map(lambda micros: micros / 1000),
    st.sampled_from([0.1, 0.18, 1.0, 1.001, 1.8, 3.2, 10.0, 1e6, 999_999.999]),
)


@settings(max_examples=examples(100, share=10))
@given(
    st.lists(st.tuples(TOOK, st.sampled_from("ab"), st.integers(0, 2), st.sampled_from(("METADATA", "FETCH"))),
             min_size=1, max_size=120)
)  # fmt: skip
def test_percentiles_lie_within_their_stated_bound(
    session: Any, sent_requests: list[tuple[float, str, int, str]]
) -> None:
    """Whatever the times are, and in whatever rows of brokers, buckets and APIs they are counted."""
    rows = [
        request("x", hour * 3600, api, broker=broker, errors={}) | dict.fromkeys(TIMES, 0.0) | {"total_time_ms": took}
        for took, broker, hour, api in sent_requests
    ]
    with on(session):
        parts = client_activity_parts.transform(frame(session, "requests", rows), Settings())
    table = asked(session, "client_activity", client_activity_parts=parts)
    for keys, of_key in (
        (("cluster",), lambda _: "c"),
        (("api_name",), lambda one: one[3]),
        (("broker",), lambda one: one[1]),
    ):
        statement = activity.percentiles("{client_latency} AS a", keys)
        sql = statement.format(client_latency=f"({views()['client_latency'].sql})").format(
            client_activity=f"({table.sql()})"
        )
        for key, *given_values in session.connection.sql(sql).fetchall():
            exact = sorted(one[0] for one in sent_requests if of_key(one) == key)
            for percent, value in zip((50, 99), given_values, strict=True):
                true = exact[-(-percent * len(exact) // 100) - 1]
                assert true <= value <= exact[-1]
                assert value / 1.8 < true or value <= 0.1


def test_steps_count_as_logged_while_a_broker_logged_every_request(tmp_path: Path) -> None:
    """As long as the silence after a request shows no hole of the log; a step of which a part was logged counts."""

    def file(cluster: str, *runs: tuple[float, float]) -> dict[str, Any]:
        rows = [{"began_at": at(began * 60), "ended_at": at(ended * 60)} for began, ended in runs]
        return {"file_id": cluster, "cluster": cluster, "broker": "b", "path": "p", "debug_runs": rows}

    files = [file("c", (0, 1), (30, 31)), file("d", (50, 100))]
    scope = Scope(LocalTables(warehouse(tmp_path / "w", [sent(1.0)], ingested_files=files)))
    logged = activity.logged_steps(scope, steps(0, 10, 6, True))
    assert logged == {"c": {0, 3}, "d": {5}, None: {0, 3, 5}}
