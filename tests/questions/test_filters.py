"""Filters: times, patterns, and conditions in which a text can only be a value."""

from argparse import Namespace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.filters import Filters, Scope, given_time
from kafka_clientinfo.questions.queries import Tables
from tests.commands.fleet_on_disk import DAY, fleet, use

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-21", "2026-11-21"), ("2026-11-21T02:00", "2026-11-21T02:00"), ("7d", "2026-11-15T12:00"),
        ("2026-11-21T02:00:00-05:00", "2026-11-21T07:00"), ("2026-11-21 02:00:00.5Z", "2026-11-21T02:00:00.5"),
        ("today", "2026-11-22"), ("yesterday", "2026-11-21"), ("90m", "2026-11-22T10:30"), ("12h", "2026-11-22"),
        ("2w", "2026-11-08T12:00"),
    ],
)  # fmt: skip
def test_times_without_a_zone_are_utc(text: str, time: str) -> None:
    assert given_time(text, "--since", NOW) == datetime.fromisoformat(f"{time}{'' if 'T' in time else 'T00'}+00:00")


@pytest.mark.parametrize(
    "text",
    ["soon", "", "7", "d", "-7d", "7y", "999999w", "2026-13-01", "0001-01-01T00:00+23:00", "99999-01-01", "1e999"],
)
def test_a_time_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--until is .*; give a time: ISO 8601 in UTC such as 2026-11-21"):
        given_time(text, "--until", NOW)


def test_conditions_are_of_what_is_given() -> None:
    assert Filters().where() == "true"
    assert Filters().parameters == {}
    filters = Filters.of(Namespace(since="2026-11-21", cluster="c'", client="a*", principal=None))
    assert filters.where("opened_at", "closed_at") == (
        "true AND closed_at >= CAST({since} AS TIMESTAMP) AND cluster = {cluster} "
        "AND coalesce(client_id, '') LIKE {client} ESCAPE '!'"
    )
    assert filters.parameters == {"since": "2026-11-21 00:00:00.000000", "cluster": "c'", "client": "a%"}
    assert Filters(client="100%_!*").parameters == {"client": "100!%!_!!%"}
    filters = Filters(since=given_time("0001-01-01", "--since"), until=given_time("9999-12-31", "--until"))
    assert filters.parameters == {"since": "0001-01-01 00:00:00.000000", "until": "9999-12-31 00:00:00.000000"}


def test_bytes_that_are_no_utf8_are_named() -> None:
    with pytest.raises(ConfigError, match=r"--client is .* not UTF-8"):
        Filters.of(Namespace(client="a\udcff"))


@pytest.mark.parametrize(
    ("since", "until"),
    [("2026-11-22", "2026-11-20"), ("2026-11-22", "2026-11-22T00:00Z"), ("2026-11-22", "2026-11-22T01:00+02:00")],
)
def test_a_time_that_ends_before_it_begins_is_refused(since: str, until: str) -> None:
    with pytest.raises(ConfigError) as error:
        Filters.of(Namespace(since=since, until=until))
    assert str(error.value) == f"--until {until} is not after --since {since}"


@pytest.mark.parametrize(
    ("table", "first", "last"),
    [
        ("connections", "opened_at", "last_request_at"), ("api_usage", "first_at", "last_at"), ("violations", "first_at", "last_at"),
        ("failed_requests", "logged_at", "logged_at"), ("client_instances", "first_seen", "last_seen"),
        ("client_inventory", "first_seen", "last_seen"), ("upgrade_impact", "first_seen", "last_seen"),
    ],
)  # fmt: skip
def test_a_span_chooses_what_lasts_into_it(table: str, first: str, last: str) -> None:
    asked: list[tuple[str, Any]] = []
    tables: Any = SimpleNamespace(query=lambda *given: asked.append(given))
    Scope(tables, Filters(since=NOW, until=NOW)).query(f"SELECT * FROM {{{table}}} AS t, {{ingested_files}}", {"p": 1})
    chosen = f"{last} >= CAST({{since}} AS TIMESTAMP) AND {first} < CAST({{until}} AS TIMESTAMP)"
    ((statement, parameters),) = asked
    assert statement.startswith(f"SELECT * FROM (SELECT * FROM {{{table}}} AS chosen WHERE true AND {chosen}")
    assert statement.endswith(") AS t, {ingested_files}")
    assert ("EXISTS" in statement) == (table in ("client_inventory", "upgrade_impact"))
    time = "2026-11-22 12:00:00.000000"
    assert parameters == {"since": time, "until": time, "p": 1}


ABSENT = (
    *(use("away", "h1", day=day) for day in (0, 3)), use("away", "h1", day=1, client_software_version="v2.0"),
    use("away", "h1", day=1, principal=None),
    *(use("broker", "h2", day=day) for day in (0, 3)), use("broker", "h2", day=1, role="broker"),
    use(None, "h3", day=1), use("open", "h4", hours=70),
    *(use("other cluster", "h5", day=day) for day in (0, 3)), use("other cluster", "h5", day=1, cluster="d"),
)  # fmt: skip
"""Clients that connect on the first and the fourth day, and connections on the second day that are not theirs."""
_NULL, _V1, _V2 = (None, "v1.0"), ("User:ANONYMOUS", "v1.0"), ("User:ANONYMOUS", "v2.0")


ALL = {("c", name, *_V1) for name in ("away", "broker", "other cluster", "open")}


@pytest.mark.parametrize("table", ["client_inventory", "upgrade_impact"])
@pytest.mark.parametrize(
    ("given", "clients"),
    [
        (
            {"since": 1, "until": 2},
            {("c", "away", *_V2), ("c", "away", *_NULL), ("c", None, *_V1), ("c", "open", *_V1), ("d", "other cluster", *_V1)},
        ),
        ({"since": 2, "until": 3}, {("c", "open", *_V1)}),
        ({"since": 3, "until": 4}, ALL - {("c", "open", *_V1)}),
        ({"since": 2}, ALL),
        ({"until": 1}, ALL),
    ],
)  # fmt: skip
def test_a_client_is_chosen_for_a_connection_in_the_time(
    absent: Tables, table: str, given: dict[str, int], clients: set[tuple[str | None, ...]]
) -> None:
    filters = Filters(**{name: DAY + timedelta(days=days) for name, days in given.items()})
    columns = "cluster, client_id, principal, client_software_version"
    rows = Scope(absent, filters).query(f"SELECT {columns} FROM {{{table}}} AS t")
    assert sorted(map(str, rows)) == sorted(map(str, clients))


@pytest.fixture(scope="module")
def absent(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return LocalTables(fleet(tmp_path_factory.mktemp("absent") / "w", ABSENT))
