"""The question what clients do over time: requests, times, errors, throttling and connections, by client or otherwise.

The rows of `client_activity` are sums over buckets of time, so an answer is about whole buckets. What a percentile says,
docs/reference/glossary.md has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ..protocol.api_keys import ErrorCode
from .filters import Scope
from .presenter import counted
from .queries import hash_of, same
from .trust import nobody

CLIENT_KEY = ("cluster", "principal", "client_id")
"""The columns of a client here. Software is none of them: a broker learns it from the first ApiVersions, which comes
before, so that the rows of a client have two softwares."""
BY: Mapping[str, tuple[str, ...]] = {
    "client": CLIENT_KEY,
    "principal": ("cluster", "principal"),
    "software": ("cluster", "client_software_name", "client_software_version"),
    "api": ("cluster", "api_name"),
    "owner": ("owner",),
}
TOP: Mapping[str, str] = {"requests": "requests", "p99": "p99_ms", "throttle": "throttle_ms", "errors": "errors"}
"""The column of an answer that sorts it, the most first."""
_ORDERS_WITHOUT_ZEROS = ("throttle", "errors")
WAITING = ("FETCH", "SHARE_FETCH", "JOIN_GROUP", "SYNC_GROUP")
"""The APIs of which a broker holds a request back until others have done something."""
NORMAL_ERRORS = {"API_VERSIONS": ErrorCode.UNSUPPORTED_VERSION, "JOIN_GROUP": ErrorCode.MEMBER_ID_REQUIRED}
"""Errors that are a step of a client's normal start: of a newer client's first ApiVersions (KIP-511), of a member without id (KIP-394)."""
OF_NORMAL_STARTS = "those of normal starts: " + ", ".join(
    f"{code.name} of {api}" for api, code in NORMAL_ERRORS.items()
)
_NORMAL = " ".join(f"WHEN '{api}' THEN {code:d}" for api, code in NORMAL_ERRORS.items())
_MICROS = "unix_micros(n.bucket) + CAST(n.minute AS BIGINT) * 60000000"
"""SQL for the start of a minute of a bucket, in microseconds since the epoch; for rows `n` of `_numbers`."""
_MOST_MINUTES = 1_440
"""The longest bucket that is divided into minutes: each is a row of VALUES."""
_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1_440, 2_880, 10_080, 43_200, 525_600)
_SILENCE = timedelta(minutes=5)
"""The silence after a request at DEBUG that shows no hole of the log, unless the setting coverage_gap_ms says otherwise."""
_UNITS = ((10_080, "week"), (1_440, "day"), (60, "hour"), (1, "minute"))


@dataclass(frozen=True)
class Timeline:
    """Equal steps of time, over the time in which there were requests.

    Attributes:
        in_minutes: whether steps are shorter than buckets, so that the requests of single minutes are counted.
    """

    start: datetime
    minutes: int
    count: int
    in_minutes: bool

    @property
    def end(self) -> datetime:
        return self.start + timedelta(minutes=self.minutes * self.count)

    @property
    def words(self) -> str:
        length, unit = next(pair for pair in _UNITS if self.minutes % pair[0] == 0)
        return counted(self.minutes // length, unit)


@dataclass(frozen=True)
class Question:
    """What is asked for.

    Attributes:
        owners: numbers of owners, from `owners_of_clients`; the answer has these numbers, and null for clients without an
            owner. A client counts for each of its owners.
    """

    by: str = "client"
    top: str = "requests"
    owners: Sequence[tuple[str, int]] = ()

    @property
    def leaves_out_waits(self) -> bool:
        """Whether percentiles are without `WAITING`: by API these are rows of their own, which are slow for no fault."""
        return self.by != "api" or self.top == "p99"

    @property
    def statement(self) -> str:
        keys = BY[self.by]
        of_key = ", ".join(keys)
        opened = "" if self.by == "api" else "CAST(sum(connections_opened) AS BIGINT) AS connections_opened, "
        sums = (
            f"SELECT {of_key}, CAST(sum(requests) AS BIGINT) AS requests, {opened}"
            f"CAST(sum(error_count - coalesce(errors[CASE api_name {_NORMAL} END], 0)) AS BIGINT) AS errors, max(total_time_ms_max) AS max_ms, "
            "floor(sum(total_time_ms_sum) * 1000 + 0.5) AS total_us, CAST(sum(throttled) AS BIGINT) AS throttled, "
            "CAST(floor(sum(throttled_ms) * 1000 + 0.5) AS DOUBLE) / 1000 AS throttle_ms, min(bucket) AS first_bucket, "
            f"max(bucket) AS last_bucket FROM {self._source('client_activity')} GROUP BY {of_key}"
        )
        shown = ["requests", *(["connections_opened"] if opened else []), "errors"]
        which = "e.most_frequent_error, " if self.top == "errors" else ""
        errors = f"LEFT JOIN ({self._most_frequent_errors}) AS e ON {same('e', 's', keys)} " if which else ""
        chosen = f"WHERE s.{TOP[self.top]} > 0 " if self.top in _ORDERS_WITHOUT_ZEROS else ""
        return (
            f"{self._owners}SELECT {', '.join(f's.{name}' for name in (*keys, *shown))}, {which}p.p50_ms, p.p99_ms, "
            "s.max_ms, floor(CAST(s.total_us AS DOUBLE) / nullif(s.requests, 0) + 0.5) / 1000 AS mean_ms, s.throttled, "
            f"s.throttle_ms, s.first_bucket, s.last_bucket FROM ({sums}) AS s "
            f"LEFT JOIN ({percentiles(self._latency, keys)}) AS p ON {same('p', 's', keys)} {errors}{chosen}"
            f"ORDER BY {TOP[self.top]} DESC, requests DESC, {', '.join(f's.{name}' for name in keys)}"
        )

    def over_time(self, scope: Scope, timeline: Timeline, limit: int = 0) -> dict[tuple[Any, ...], list[int]]:
        """Return the requests in each step of a timeline, by the columns of `BY`, for the first rows of the answer."""
        keys = BY[self.by]
        micros, start = timeline.minutes * 60_000_000, int(timeline.start.timestamp()) * 1_000_000
        step = f"CAST(floor(({_MICROS} - {start}) / {micros}.0) AS INT)"
        chosen = f" JOIN ({self.statement} LIMIT {limit}) AS t ON {same('n', 't', keys)}" if limit else ""
        of_key = ", ".join(f"n.{name}" for name in keys)
        rows = scope.query(
            f"{self._owners}SELECT {of_key}, {step} AS step, CAST(sum(n.number) AS BIGINT) AS number "
            f"FROM ({_numbers(self._source('client_activity'), scope, timeline.in_minutes)}) AS n{chosen} "
            f"GROUP BY {of_key}, {step}"
        )
        series: dict[tuple[Any, ...], list[int]] = {}
        for *key, index, number in rows:
            series.setdefault(tuple(key), [0] * timeline.count)[index] += number
        return series

    def _source(self, name: str) -> str:
        """Return the rows of a table or view, as `a`, with the columns of `BY`; without those of brokers' own requests."""
        is_brokers = f"SELECT 1 FROM {{names_of_brokers}} AS b WHERE {same('b', 'o', CLIENT_KEY)}"
        rows = f"(SELECT * FROM {{{name}}} AS o WHERE NOT EXISTS ({is_brokers})) AS a"
        if self.by == "owner":
            return f"(SELECT a.*, o.owner FROM {rows} LEFT JOIN owners AS o ON o.client_key = {hash_of('a', CLIENT_KEY)}) AS a"
        return rows + (" WHERE a.api_name IS NOT NULL" if self.by == "api" else "")

    @property
    def _most_frequent_errors(self) -> str:
        of_key = ", ".join(BY[self.by])
        return (
            f"SELECT {of_key}, coalesce(k.error_name, CAST(c.code AS STRING)) AS most_frequent_error FROM (SELECT *, row_number() "
            f"OVER (PARTITION BY {of_key} ORDER BY number DESC, code) AS place FROM (SELECT {of_key}, code, sum(errors[code]) AS number "
            f"FROM (SELECT *, explode(map_keys(errors)) AS code FROM {self._source('client_activity')}) AS a "
            f"WHERE code <> CASE coalesce(api_name, '') {_NORMAL} ELSE 0 END GROUP BY {of_key}, code) AS n) AS c LEFT JOIN {{error_codes}} AS k ON k.error_code = c.code WHERE c.place = 1"
        )

    @property
    def _latency(self) -> str:
        source = self._source("client_latency")
        if not self.leaves_out_waits:
            return source
        return f"(SELECT * FROM {source}) AS a WHERE a.api_name NOT IN {WAITING}"

    @property
    def _owners(self) -> str:
        if self.by != "owner":
            return ""
        pairs = self.owners or [("", 0)]  # no client has an empty hash
        rows = ", ".join(f"('{client}', {number})" for client, number in pairs)
        return f"WITH owners AS (SELECT * FROM (VALUES {rows}) AS v (client_key, owner)) "


def owners_of_clients(scope: Scope, numbers: Mapping[tuple[Any, ...], Sequence[int]]) -> list[tuple[str, int]]:
    """Return a pair for each client in scope and each of its owners: a hash of the client, and the owner's number.

    `numbers` are those of the owners by the columns of `CLIENT_KEY`.
    """
    own = hash_of("a", CLIENT_KEY)
    rows = scope.query(f"SELECT DISTINCT {', '.join(CLIENT_KEY)}, {own} AS client_key FROM {{client_activity}} AS a")
    return [(client_key, number) for *client, client_key in rows for number in numbers.get(tuple(client), ())]


def percentiles(source: str, keys: Iterable[str]) -> str:
    of_key = ", ".join(keys)
    counted = (
        f"SELECT {of_key}, up_to_ms, sum(requests) OVER (PARTITION BY {of_key} ORDER BY up_to_ms) AS running, "
        f"sum(requests) OVER (PARTITION BY {of_key}) AS total FROM {source}"
    )
    columns = (f"min(CASE WHEN running * 100 >= total * {p} THEN up_to_ms END) AS p{p}_ms" for p in (50, 99))
    return f"SELECT {of_key}, {', '.join(columns)} FROM ({counted}) AS w GROUP BY {of_key}"


def timeline(scope: Scope, most: int) -> Timeline | None:
    """Return at most `most` steps over the requests in scope; None if there are none.

    If there are fewer buckets than steps, steps are minutes or some of them, else a bucket or several.
    """
    length = scope.bucket_minutes
    ((first, last),) = scope.query("SELECT min(bucket), max(bucket) FROM {client_activity} AS a WHERE requests > 0")
    if first is None:
        return None
    buckets = (last - first) // timedelta(minutes=length) + 1
    span = (int(first.timestamp()) // 60, int(last.timestamp()) // 60)
    widths: Iterable[int] = (length * number for number in range(1, buckets + 1))
    in_minutes = False
    if buckets < most and length <= _MOST_MINUTES:
        ((start, end),) = scope.query(
            f"SELECT min({_MICROS}), max({_MICROS}) FROM ({_numbers('{client_activity} AS a', scope, True)}) AS n"
        )
        if start is not None:  # else buckets are longer than the setting says
            span, widths, in_minutes = (start // 60_000_000, end // 60_000_000), _STEPS, True
    for width in widths:
        begin = span[0] // width * width if in_minutes else span[0]
        count = (span[1] - begin) // width + 1
        if count <= most:
            break
    return Timeline(datetime.fromtimestamp(begin * 60, UTC), width, count, in_minutes)


def logged_steps(scope: Scope, steps: Timeline) -> dict[str | None, set[int]]:
    """Return the steps in which any broker logged every request, by cluster, and under None those of any cluster.

    In others, as while the logger was at INFO, a client without requests may have sent some.
    """
    runs = scope.tables.query(
        "SELECT cluster, run.began_at, run.ended_at FROM (SELECT cluster, explode(debug_runs) AS run FROM {ingested_files}) AS f"
    )
    width, logged = timedelta(minutes=steps.minutes), dict[str | None, set[int]]()
    for cluster, began, ended in runs:
        first, last = ((at - steps.start) // width for at in (began, ended + _SILENCE))
        inside = range(max(first, 0), min(last, steps.count - 1) + 1)
        for name in (cluster, None):
            logged.setdefault(name, set()).update(inside)
    return logged


def _numbers(source: str, scope: Scope, in_minutes: bool) -> str:
    if not in_minutes:
        return f"SELECT a.*, 0 AS minute, a.requests AS number FROM (SELECT * FROM {source}) AS a WHERE a.requests > 0"
    minutes = ", ".join(f"({number})" for number in range(scope.bucket_minutes))
    return (
        f"SELECT a.*, m.minute, a.requests_by_minute[m.minute] AS number FROM (SELECT * FROM {source}) AS a "
        f"CROSS JOIN (VALUES {minutes}) AS m (minute) WHERE a.requests_by_minute[m.minute] IS NOT NULL"
    )


def nothing(scope: Scope, top: str) -> str:
    ((requests, throttled, errors),) = scope.query(
        "SELECT sum(requests), max(throttled), max(error_count) FROM {client_activity} AS a"
    )
    if not requests:
        return f"{nobody(scope, 'No request')}."
    if top == "throttle":
        if throttled is None:
            return "The logs do not say who was throttled; brokers before 2.8 do not log which delays are a quota's."
        return "Nobody was throttled: no quota has delayed a request."
    if errors is None:
        return "No response is logged, so that no error can be seen."
    return "No response has an error code" + (f", but for {OF_NORMAL_STARTS}." if errors else ".")


def whole_buckets(scope: Scope) -> str | None:
    length, filters, epoch = timedelta(minutes=scope.bucket_minutes), scope.filters, datetime.fromtimestamp(0, UTC)
    since = None if filters.since is None else epoch + (filters.since - epoch) // length * length
    until = None if filters.until is None else epoch - (epoch - filters.until) // length * length  # rounded up
    if (since, until) == (filters.since, filters.until):
        return None
    begin = "" if since is None else f" from {since:%Y-%m-%d %H:%M}"
    end = "" if until is None else f" to {until:%Y-%m-%d %H:%M}"
    return f"The figures are those of whole buckets of {scope.bucket_minutes:,} minutes:{begin}{end} UTC."
