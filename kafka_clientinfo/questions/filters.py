"""The filters of commands that answer questions, and the rows of a warehouse that they select."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..config.rules import SEVERITY_ORDER
from ..errors import ConfigError
from ..printable import argument
from ..tables.views import views
from .queries import same

if TYPE_CHECKING:
    from .queries import Parameters, Rows, Tables

TIME_FORMS = "ISO 8601 in UTC such as 2026-11-21 or 2026-11-21T02:00, today, yesterday, or 30m, 12h, 7d, 2w before now"
_FILTERS = {
    "since": ("T", f"only what was there at this time or later: {TIME_FORMS}", "{end} >= CAST({{since}} AS TIMESTAMP)"),
    "until": ("T", "only what was there before this time; as --since", "{begin} < CAST({{until}} AS TIMESTAMP)"),
    "cluster": ("NAME", "only this cluster", "cluster = {{cluster}}"),
    "principal": (
        "TEXT",
        "only this principal, such as User:alice; * stands for any characters",
        "coalesce(principal, '') LIKE {{principal}} ESCAPE '!'",
    ),
    "client": (
        "TEXT",
        "only this client id; * stands for any characters",
        "coalesce(client_id, '') LIKE {{client}} ESCAPE '!'",
    ),
}
"""Metavar and help of each filter, and its condition in SQL on rows that last from `begin` to `end`."""
_SPANS: Mapping[str, tuple[str, str]] = {
    "connections": ("opened_at", "last_request_at"),
    "probable_connections": ("opened_at", "last_request_at"),
    "api_usage": ("first_at", "last_at"),
    "violations": ("first_at", "last_at"),
    "failed_requests": ("logged_at", "logged_at"),
    "client_instances": ("first_seen", "last_seen"),
    "client_inventory": ("first_seen", "last_seen"),
    "upgrade_impact": ("first_seen", "last_seen"),
    "topic_usage": ("first_at", "last_at"),
    "client_activity": ("bucket", "bucket + INTERVAL '{minutes}' MINUTE - INTERVAL '1' MICROSECOND"),
}
"""The first and the last time of each table's rows; `minutes` is the length of a bucket."""
_CLIENT_TABLES = ("client_inventory", "upgrade_impact")
"""The tables in which a row's times span all connections of a client, also if it was away between two of them."""
_OF_CLUSTERS = (
    "known_topics",
    "broker_releases",
    "log_coverage",
    "brokers_without_logs",
    "missing_hours",
    "unreadable_records",
)
"""The tables that only the filter of the cluster applies to: what they say is about no client, and about all times."""
_AGO = re.compile(r"(\d{1,6})([mhdw])")
NAMED_DAYS = {"today": 0, "yesterday": 1}
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_filters(parser: argparse.ArgumentParser, *names: str, counts: str | None = None) -> None:
    """Declare filters by their names: since, until, cluster, principal, client.

    `counts` are figures that the command takes from the whole warehouse, whatever --since and --until say; for their help.
    """
    group = parser.add_argument_group("filters")
    for name in names:
        metavar, text, _ = _FILTERS[name]
        whole = f"; {counts} are those of the whole warehouse" if counts and name in ("since", "until") else ""
        group.add_argument(f"--{name}", metavar=metavar, help=text + whole)


def given_time(text: str, option: str, now: datetime | None = None) -> datetime:
    """Return a time in UTC from an argument: ISO 8601, today, yesterday, or a time span such as 7d before now.

    A date or a day's name alone means its midnight, and no zone means UTC.
    """
    try:
        if span := _AGO.fullmatch(text):
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[span[2]]: int(span[1])})
        if text in NAMED_DAYS:
            day = (now or datetime.now(UTC)).astimezone(UTC) - timedelta(days=NAMED_DAYS[text])
            return day.replace(hour=0, minute=0, second=0, microsecond=0)
        value = datetime.fromisoformat(text)
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"{option} is {text!r}; give a time: {TIME_FORMS}") from None


@dataclass(frozen=True)
class Filters:
    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None
    principal: str | None = None
    client: str | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Filters":
        given: dict[str, Any] = {}
        for name in _FILTERS:
            if (text := getattr(arguments, name, None)) is not None:
                argument(f"--{name}", text)
                given[name] = given_time(text, f"--{name}") if name in ("since", "until") else text
        filters = cls(**given)
        if filters.since is not None and filters.until is not None and filters.until <= filters.since:
            raise ConfigError(f"--until {arguments.until} is not after --since {arguments.since}")
        return filters

    def where(self, begin: str = "first_seen", end: str = "last_seen") -> str:
        """Return the condition in SQL, with parameters in braces, on rows that last from time `begin` to `end`."""
        conditions = [condition for name, (_, _, condition) in _FILTERS.items() if getattr(self, name) is not None]
        return " AND ".join(["true", *conditions]).format(begin=begin, end=end)

    def rows_of(self, table: str, bucket_minutes: int = 60) -> str:
        """Return SQL for the rows of a table in scope, with the table and the parameters in braces.

        If a time begins and ends, a client must have a connection in it: it may have come before and after it only. A bucket
        of time is in scope if a part of it is.
        """
        if table in _OF_CLUSTERS:
            return f"SELECT * FROM {{{table}}} AS chosen WHERE {Filters(cluster=self.cluster).where()}"
        begin, end = (time.format(minutes=bucket_minutes) for time in _SPANS[table])
        rows = f"SELECT * FROM {{{table}}} AS chosen WHERE {self.where(begin, end)}"
        if table in _CLIENT_TABLES and self.since is not None and self.until is not None:
            times = Filters(self.since, self.until).where(*(f"own.{name}" for name in _SPANS["connections"]))
            own = f"own.role = 'client' AND {same('own', 'chosen')} AND {times}"
            rows += f" AND EXISTS (SELECT 1 FROM {{connections}} AS own WHERE {own})"
        return rows

    def clipped(self, begin: datetime, end: datetime) -> tuple[datetime, datetime]:
        """Return what lies of a time between the filters' times; its end is before its beginning if nothing does."""
        return max(begin, self.since or begin), min(end, self.until or end)

    @property
    def parameters(self) -> Mapping[str, str]:
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {name: value if name == "cluster" else _parameter(value) for name, value in given.items()}


class _Names(dict[str, str]):
    """The names in the SQL's braces; parameters and tables that are read whole keep their braces."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


@dataclass(frozen=True, slots=True)
class Scope:
    tables: "Tables"
    filters: Filters = Filters()
    bucket_minutes: int = 60

    def query(self, statement: str, parameters: "Parameters | None" = None) -> "Rows":
        """Answer SQL as `Tables.query` does, on the rows in scope; views and `severity_order` may be in braces too."""
        names = _Names(severity_order=SEVERITY_ORDER)
        names |= {name: f"({self.filters.rows_of(name, self.bucket_minutes)})" for name in (*_SPANS, *_OF_CLUSTERS)}
        names |= {name: f"({view.sql.format_map(names)})" for name, view in views().items()}
        return self.tables.query(statement.format_map(names), {**self.filters.parameters, **(parameters or {})})


def _parameter(value: datetime | str) -> str:
    """Return a time as text, or the LIKE pattern for a text in which * stands for any characters."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")  # always writes four digits of a year
    return re.sub(r"[!%_]", r"!\g<0>", value).replace("*", "%")
