"""The judged requests: requests with their connection, and with every concern's predicates as columns.

A run computes them once, with one shuffle by connection id, and caches them. `connections` aggregates them,
`violations` explodes them, and the concerns' other tables count them, so that a count and a violation use the same
expression.

Requests of a connection that differ only in time, correlation id and offset are one row, a kind, with their number. Most
of a log repeats the same fetches and heartbeats, so far fewer rows are judged, cached and aggregated.

`concern` says which columns a request carries until it is judged, and why.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..logs.apis import CONTROL_APIS
from ..protocol import BROKER_PATTERN_SQL, ErrorCode
from ..tables.spec import CONNECTION_ID_KEY
from .boundaries import (
    COMPARED_WITH_BEFORE,
    ID_NUMBERS,
    STATE,
    STATED_SOFTWARE,
    UNCHANGED,
    as_requests,
    with_connection,
)
from .concern import ALONE, COMPARED, DIFFERING, WHO_FIELDS, Columns, Concern, Reads, is_api_versions_success, reads_of
from .engine import Column, DataFrame, F, Window
from .look_backs import came_after, last_before

_RANGE = ("apiKey", "minVersion", "maxVersion")


@dataclass(frozen=True, slots=True)
class JudgedBefore:
    """What earlier runs judged: `STATE` of each connection id, and judged requests of connections that may go on."""

    states: DataFrame | None = None
    requests: DataFrame | None = None


NOTHING = JudgedBefore()
"""Nothing was judged before, but a later run will go on."""


def judged_requests(
    requests: DataFrame,
    log_positions: DataFrame,
    concerns: Sequence[Concern],
    before: JudgedBefore | None = None,
) -> DataFrame:
    """Return one row per kind of request that a connection sent; a request that is logged twice counts once.

    A connection's first request, and every request of the APIs `ALONE`, is a row of its own.

    Args:
        requests: rows of the table `requests`: all of each connection id, or all after those that were judged before,
            or, with `boundaries.UNCHANGED`, all after the first connections of an id.
        log_positions: the positions of their files, as `coverage.periods.log_positions` returns them.
        concerns: their columns are added.
        before: what earlier runs judged; None if no later run will add to the result. If given, the rows also have
            `STATE`, which is null except in the row of the last request of a connection id, and is_newest, whether the
            connection is the last one of its id.

    Returns:
        The rows, with
        - the connection's key, session_no and first_client_id;
        - of the first request of the kind: seq (0 for the connection's first request), logged_at, correlation_id and
          byte_offset;
        - of all requests of the kind: requests (their number), last_seq, earliest_at and latest_at (the bounds of
          logged_at), lowest_correlation_id and highest_correlation_id; jumps, repeats and outlasts if any request has
          them (see `boundaries.COMPARED_WITH_BEFORE`);
        - shared by the kind: the record's other columns; error_code, which is inferred for ApiVersions if no response
          is logged; api_ranges, the offer of an ApiVersions response, for `range_of`; request, response and
          group_payloads of `GROUP_APIS` and LeaveGroup; answer_seq, the seq of the last accepted ApiVersions request before
          it, null if there is none, and knows_answer, whether its sender knew that answer (`look_backs.came_after`);
        - coverage and heard_until of the connection's first request (see `with_connection`); and
        - the concerns' columns.
    """
    reads = reads_of(concerns)
    narrow = _narrow(requests, reads)
    if before is not None and before.states is not None:
        narrow = narrow.unionByName(as_requests(before.states), allowMissingColumns=True)
    answered_before = last_before(F.struct("row_no", "logged_at"), is_api_versions_success(), _answer)
    earlier = {name: back for concern in concerns for name, back in concern.earlier().items()}
    located = with_log_position(narrow, log_positions).drop("file_id")
    placed = with_connection(located, {"answered_before": answered_before, **earlier}, keeps_state=before is not None)
    answered = {
        "answer_seq": F.col("seq") - F.col("answered_before.distance"),
        "knows_answer": F.coalesce("answered_before.is_known", F.lit(False)),
    }
    placed = placed.withColumns(answered).drop("answered_before", "file_no", *reads.only_looked_back_at)
    by_kind = _aggregated_by_kind(placed)
    if before is not None:
        by_kind = by_kind.withColumn("is_newest", _is_newest(*ID_NUMBERS, "connection_id"))
    own = [name for name in by_kind.columns if name not in ("who", "carried", *ID_NUMBERS)]
    unpacked = by_kind.select(*own, *(f"who.{name}" for name in WHO_FIELDS), "carried.*")
    kept = [name for name in unpacked.columns if name not in earlier]
    predicates = [column.alias(name) for concern in concerns for name, column in concern.predicates().items()]
    judged = unpacked.select(*kept, *predicates)
    if before is None or before.requests is None:
        return judged
    return _merged(before.requests, judged)


def _answer(last: Column) -> Column:
    """Return how many requests before this one the last accepted ApiVersions is, and whether the sender may know its answer."""
    distance, is_known = F.col("row_no") - last["row_no"], came_after(last["logged_at"])
    return F.when(last.isNotNull(), F.struct(distance.alias("distance"), is_known.alias("is_known")))


def with_log_position(requests: DataFrame, log_positions: DataFrame) -> DataFrame:
    """Add to requests the position of their file in their broker's log, and the coverage of the log there.

    Args:
        requests: rows of the table `requests`, with `carried`, which holds log_level.
        log_positions: a relation of the rows of `coverage.periods.log_positions`.

    Returns:
        The requests with
        - broker_no, a number for each cluster and broker;
        - file_no, which orders the files of a broker;
        - starts_before, the number of the broker's starts before the request was logged;
        - period, the number of the broker's period; null at INFO or outside a period; and
        - coverage, a struct of
          - since: when the period began; null outside a period;
          - started_at: when the broker started, if its start began the period; else null;
          - max_idle_ms: the setting, or the broker's own limit according to its log if that is more;
          - is_complete: false if the log was sampled or filtered; true if nothing shows that and ApiVersions is logged;
            null if the broker's log holds neither ApiVersions nor a software name.
    """
    joined = requests.join(F.broadcast(log_positions), on="file_id", how="inner")
    reached = F.filter("later_parts", lambda part: part["offset"] <= F.col("byte_offset"))
    part = F.when(F.col("later_parts").isNull(), F.col("first_part")).otherwise(F.element_at(reached, -1))
    starts_during = F.filter("starts_in_file", lambda start: start < F.col("logged_at"))
    return joined.withColumn("part", part).select(
        *requests.columns,
        "broker_no",
        "file_no",
        (F.col("starts_before_file") + F.size(starts_during)).alias("starts_before"),
        F.when(F.col("carried.log_level") != "INFO", F.col("part.period")).alias("period"),
        F.col("part.coverage").alias("coverage"),
    )


def _narrow(requests: DataFrame, reads: Reads) -> DataFrame:
    """Return the columns that requests carry into the judgement, without requests that are logged twice."""
    made = reads.made()
    stated = made["sent_software_name"]
    stated_software = F.when(stated.rlike(BROKER_PATTERN_SQL), stated)
    in_windows = dict.fromkeys((*COMPARED, *reads.looked_back_at, *reads.only_looked_back_at))
    carried = [name for name in dict.fromkeys((*reads.carried, *made)) if name not in (*WHO_FIELDS, *in_windows)]

    def read(names: Iterable[str]) -> list[Column]:
        return [made[name].alias(name) if name in made else F.col(name) for name in names]

    narrow = requests.where(~F.col("is_duplicate")).select(
        "file_id",
        *read(in_windows),
        F.struct(*WHO_FIELDS, stated_software.alias(STATED_SOFTWARE)).alias("who"),
        *(name for name in UNCHANGED if name in requests.columns),
        F.struct(*read(carried)).alias("carried"),
    )
    # A separate step: else Spark would parse each response once for every field in `_by_field`.
    return narrow.withColumn("api_ranges", _by_field(F.col("api_ranges")))


def _is_newest(*connection_id: str) -> Column:
    return F.col("session_no") == F.max("session_no").over(Window.partitionBy(*connection_id))


def _merged(before: DataFrame, judged: DataFrame) -> DataFrame:
    nothing = F.lit(None).cast(judged.schema[STATE].dataType)
    rows = judged.drop("is_newest").unionByName(before.withColumn(STATE, nothing))
    totals = {
        "requests": F.sum("requests"),
        "last_seq": F.max("last_seq"),
        **_bounds("lowest_correlation_id", "highest_correlation_id", "earliest_at", "latest_at"),
    }
    # Rotated logs would otherwise give a connection new kinds with every file.
    by_kind = _by_kind(rows, (*DIFFERING, "file_id"), totals)
    return by_kind.withColumn("is_newest", _is_newest(*CONNECTION_ID_KEY)).select(*judged.columns)


def _bounds(lowest_id: str, highest_id: str, earliest: str, latest: str) -> Columns:
    return {
        "lowest_correlation_id": F.min(lowest_id),
        "highest_correlation_id": F.max(highest_id),
        "earliest_at": F.min(earliest),
        "latest_at": F.max(latest),
    }


def _aggregated_by_kind(requests: DataFrame) -> DataFrame:
    """Aggregate requests that are alike in all columns but `DIFFERING`, without a shuffle: they are in one partition."""
    totals = {
        "requests": F.count("*"),
        "last_seq": F.max("seq"),
        **_bounds("correlation_id", "correlation_id", "logged_at", "logged_at"),
    }
    return _by_kind(requests, DIFFERING, totals)


def _by_kind(rows: DataFrame, differing: Sequence[str], totals: Columns) -> DataFrame:
    """Aggregate requests, or kinds of them, that are alike; `totals` are aggregates of the numbers and bounds of a kind.

    Each column has its own `min_by`, not one for a struct of them: Spark aggregates numbers and times by hashing, but
    sorts the rows for a struct.
    """
    stands_alone = (F.col("seq") == 0) | F.col("api_key").isin(*map(int, ALONE))
    alike = [name for name in rows.columns if name not in ("seq", *differing, *COMPARED_WITH_BEFORE, *totals)]
    by_kind = rows.groupBy(*alike, F.when(stands_alone, F.col("seq")).alias("alone")).agg(
        F.min("seq").alias("seq"),
        *(F.min_by(name, "seq").alias(name) for name in differing),
        *(column.alias(name) for name, column in totals.items()),
        *(F.bool_or(name).alias(name) for name in COMPARED_WITH_BEFORE),
    )
    return by_kind.drop("alone")


def _by_field(ranges: Column) -> Column:
    """Turn an array of ranges into one array per field, which takes a third of the memory."""
    fields = (F.transform(ranges, _field(name)).alias(name) for name in _RANGE)
    return F.when(ranges.isNotNull(), F.struct(*fields))


def _field(name: str) -> Callable[[Column], Column]:
    return lambda api_range: api_range[name]


def range_of(api_ranges: Column, api_key: Column) -> Column:
    """Return the range that an ApiVersions response offers for an API: minVersion and maxVersion, both null if none."""
    position = F.call_function("array_position", api_ranges["apiKey"], api_key)
    index = F.when(position != 0, position.cast("int"))
    return F.struct(*(F.element_at(api_ranges[name], index).alias(name) for name in _RANGE[1:]))


def requests_where(condition: Column) -> Column:
    """Count the requests that meet a condition. Aggregates judged requests; one row may stand for several requests."""
    return F.sum(F.when(condition, F.col("requests")).otherwise(0))


def is_rejected() -> Column:
    """Return whether the broker rejected a judged request as the KIPs ask: by error code or by closing the connection.

    KIP-1313 and KIP-511 name INVALID_REQUEST, KIP-559 INCONSISTENT_GROUP_PROTOCOL. If the broker closes the connection
    on a request, it logs the request without a response, which can be seen for APIs whose responses are read.
    """
    refused = F.col("error_code").isin(int(ErrorCode.INVALID_REQUEST), int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    logs_answers = F.col("log_generation").isin("json", "request_header_struct") & (F.col("log_level") != "INFO")
    is_kept = F.col("api_key").isin(*sorted(CONTROL_APIS)) & logs_answers
    return F.coalesce(refused | (is_kept & ~F.col("has_response") & F.col("error_code").isNull()), F.lit(False))


def is_taken() -> Column:
    """Return whether the broker accepted a judged request and its version; false if no error code is logged."""
    unsupported = F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION)
    return F.col("error_code").isNotNull() & ~unsupported & ~is_rejected()
