"""Connection boundaries: which requests of a connection id belong to one connection.

A connection id is used again, and the log shows neither the end nor the beginning of a connection. A boundary lies
between two requests of one id, in log order, where the evidence says that a new connection began:
- the correlation id does not rise and the client id is another one (36 true boundaries and no false alarm were seen over
  the logs of 23 real brokers; a correlation id alone raises 821 false alarms, as clients are free to choose it);
- the software name falls back to unknown, or becomes another one, and the request before does not explain it: only an
  accepted ApiVersions from v3 on names, and only an older or an unsupported one resets (KIP-511);
- the request before is an accepted ApiVersions that states a name, and the record does not have that name;
- a handshake begins anew, with a correlation id that starts over, after the client had been working;
- the principal is another one: it is fixed when a connection is authenticated;
- the broker was started again in between, as it says in its own log (`starts`): no connection outlives that;
- nothing came for longer than connections.max.idle.ms, after which a broker closes a connection. Silence is evidence
  only where the log would show a request: not across a missing file, and not at INFO level.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from ..protocol import FIRST_VERSION_WITH_SOFTWARE, UNKNOWN, ApiKey, ErrorCode
from ..settings import Settings
from ..tables.spec import FILE_ORDER
from .starts import number_before, starts_of_brokers

_STARTS = ("starts_before_file", "starts_in_file")
LOG_POSITION = ("file_no", "byte_offset")
"""Columns that order the requests of a broker as they were logged."""
_ID = ("broker_no", "connection_id")
"""Columns that tell a connection id from those of other brokers: numbers are compared and copied sooner than names."""
WHO = ("principal", "client_id", "client_software_name")
"""Columns of a record by which boundaries are found; a request has them in a struct, `who`."""
STATED_SOFTWARE = "stated_software"
"""The name that an ApiVersions request states, in `who` as well: the next record has it if the request was accepted."""
_COMPARED = (
    "api_key", "api_version", "header_version", "error_code", "correlation_id", "is_forwarded", "logged_at", "stretch",
    "starts_before", "who",
)  # fmt: skip
"""Columns of the request before that boundaries are found by."""
_ID_HASH = "id_hash"
"""A number made of `_ID`. Requests are sorted by it first: Spark compares a first number without reading rows."""
ID_NUMBERS = (_ID_HASH, "broker_no")
"""Columns by which, with connection_id, requests are shuffled: groups by all three need no further shuffle."""


def with_log_position(requests: DataFrame, ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Adds to requests the place of their file among its broker's, and since when the log misses no beginning.

    Where the log covers a broker's start, nothing is older than the file. Elsewhere a connection that has not been
    heard of for connections.max.idle.ms is a new one, provided no file is missing in between.

    Args:
        requests: rows of the table `requests`.
        ingested_files: the table `ingested_files`, all files of the brokers that occur.
        settings: `max_idle_ms` and `coverage_gap_ms` are used.

    Returns:
        The requests with broker_no, one for each cluster and broker; file_no, which orders the files of a broker;
        starts_before, the number of starts that the broker reports before the request was logged;
        stretch, which is the same for files with no other missing between them; and complete_since: from when on the
        log holds every connection's beginning; null where it never does.
    """
    # With a partition, as Spark Connect warns of windows without one.
    brokers = Window.partitionBy(F.lit(0)).orderBy("cluster", "broker")
    idle = F.make_dt_interval(secs=F.lit(settings.max_idle_ms / 1000))
    # The frame of a running minimum: a later file that shows a broker's start says nothing of the files before it.
    until_here = Window.partitionBy("cluster", "broker", "stretch").orderBy("file_no")
    complete = F.when(F.col("covers_broker_start"), F.col("first_logged_at"))
    files = with_stretches(ingested_files, settings).select(
        "file_id",
        "file_no",
        "stretch",
        F.dense_rank().over(brokers).alias("broker_no"),
        F.least(F.min(complete).over(until_here), F.col("stretch_since") + idle).alias("complete_since"),
        *_STARTS,
    )
    joined = requests.join(F.broadcast(files), on="file_id", how="inner")
    starts_before = F.col("starts_before_file") + number_before(F.col("starts_in_file"), F.col("logged_at"))
    return joined.withColumn("starts_before", starts_before).drop(*_STARTS)


def with_stretches(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Orders the files of each broker, and finds the stretches of them with no file missing in between.

    Args:
        ingested_files: the table `ingested_files`.
        settings: `coverage_gap_ms` is used.

    Returns:
        The files that have requests, with file_no, which orders those of a broker; stretch, the same number for files of
        one stretch; stretch_since, when the stretch begins; starts_before_file, the number of the broker's starts before
        the file; and starts_in_file, the times of those within it, or null.
    """
    order = Window.partitionBy("cluster", "broker").orderBy(*FILE_ORDER)
    reporting = starts_of_brokers(ingested_files)
    until_previous = F.max("last_logged_at").over(order.rowsBetween(Window.unboundedPreceding, -1))
    gap_micros = F.unix_micros("first_logged_at") - F.unix_micros(until_previous)
    is_hole = F.coalesce(gap_micros > settings.coverage_gap_ms * 1000, F.lit(True))
    numbered = (
        ingested_files.where(F.col("first_logged_at").isNotNull())
        .withColumns({"is_hole": is_hole, "file_no": F.row_number().over(order)})
        .withColumn("stretch", F.sum(F.col("is_hole").cast("int")).over(order))
    )
    stretch = Window.partitionBy("cluster", "broker", "stretch")
    stretches = numbered.withColumn("stretch_since", F.min("first_logged_at").over(stretch)).drop("is_hole")
    return _with_starts(stretches, reporting)


def _with_starts(files: DataFrame, reporting: DataFrame) -> DataFrame:
    """Adds the number of the broker's starts before the file, and the times of those in it: requests look at few times."""
    earliest = F.col("first_logged_at") - F.make_dt_interval(secs=F.col("step_back_ms") / 1000)
    joined = files.join(F.broadcast(reporting), on=["cluster", "broker"], how="left")
    within = F.filter("starts", lambda start: (start >= F.col("earliest")) & (start < F.col("last_logged_at")))
    return (
        joined.withColumn("earliest", earliest)
        .withColumn("starts_before_file", number_before(F.col("starts"), F.col("earliest")))
        .withColumn("starts_in_file", within)
        .drop("starts", "earliest")
    )


def with_connection(requests: DataFrame, settings: Settings, earlier: Mapping[str, Column] | None = None) -> DataFrame:
    """Adds to requests the key of their connection and their place in it.

    All windows are over the requests of a connection id in log order, so that requests are shuffled and sorted once;
    what looks at earlier requests of the same connection takes note of its number (see `any_before`).

    Args:
        requests: requests with `who` and `carried`, as `with_log_position` makes them; of each connection id all, or all
            from the beginning of one of its connections on, with kept_connections, the number of connections before that.
        settings: `max_idle_ms` is used.
        earlier: further columns, made by `any_before`, `last_before` and `first_up_to_now`.

    Returns:
        The requests with session_no (1 for the first connection of an id), opened_at, opened_seq (0 but for
        connections of one id that open at one instant, or after a clock was set back), seq (0 for a connection's
        first request), `ID_NUMBERS` and `earlier`.
    """
    kept = F.col("kept_connections") if "kept_connections" in requests.columns else F.lit(0)
    # A window function cannot hold another one: the boundary, which looks at the request before, is a column first.
    hashed = requests.withColumn(_ID_HASH, F.xxhash64(*_ID))
    followed = hashed.select(
        "*",
        *(F.lag(name).over(_of_connection_id()).alias(f"{name}_before") for name in _COMPARED),
        F.row_number().over(_of_connection_id()).alias("row_no"),
    )
    cut = followed.select(*hashed.columns, "row_no", _is_boundary(settings).alias("is_boundary"))
    numbered = cut.select(
        *(name for name in cut.columns if name != "kept_connections"),
        (F.sum(F.col("is_boundary").cast("int")).over(_up_to_now()) + kept).cast("int").alias("session_no"),
    )
    opening = F.when(F.col("is_boundary"), F.struct("row_no", "logged_at", "who.client_id"))
    # The greatest of these is of the newest instant, and there of the first connection, as its number is negated.
    instant = F.when(F.col("is_boundary"), F.struct("logged_at", (-F.col("session_no")).alias("minus_session_no")))
    placed = numbered.select(
        *(name for name in numbered.columns if name != "is_boundary"),
        F.last(opening, ignorenulls=True).over(_up_to_now()).alias("opening"),
        F.max(instant).over(_up_to_now()).alias("newest"),
        *(column.alias(name) for name, column in (earlier or {}).items()),
    )
    return placed.select(
        *(name for name in placed.columns if name not in ("opening", "newest", "row_no")),
        (F.col("row_no") - F.col("opening.row_no")).alias("seq"),
        F.col("opening.logged_at").alias("opened_at"),
        _opened_seq().alias("opened_seq"),
        F.col("opening.client_id").alias("first_client_id"),
    )


def _opened_seq() -> Column:
    """Numbers the connections of an id that opened at one instant, from 0.

    A request takes along only the newest instant at which a connection of its id opened, not all: how many there are is
    up to whoever connects. Where a clock was set back, a connection opened before that instant; its number is then that
    of all earlier connections of the id, which no other connection has.
    """
    is_newest = F.col("opening.logged_at") == F.col("newest.logged_at")
    first = F.when(is_newest, -F.col("newest.minus_session_no")).otherwise(F.lit(1))
    return F.col("session_no") - first


def any_before(condition: Column) -> Column:
    """Tells whether a condition held of an earlier request of the connection."""
    last_connection = F.max(F.when(condition, F.col("session_no"))).over(_before())
    return F.coalesce(last_connection == F.col("session_no"), F.lit(False))


def last_before(value: Column, where: Column) -> Column:
    """Takes a value of the last earlier request of the connection of which a condition holds; null where there is none."""
    found = F.last(F.when(where, F.struct("session_no", value.alias("value"))), ignorenulls=True).over(_before())
    return F.when(found["session_no"] == F.col("session_no"), found["value"])


def first_up_to_now(value: Column) -> Column:
    """Takes the first value that is not null of the connection's requests up to this one."""
    # The least is of the latest connection that has a value, and there of its first request.
    place = F.struct((-F.col("session_no")).alias("latest"), "row_no", value.alias("value"))
    found = F.min(F.when(value.isNotNull(), place)).over(_up_to_now())
    return F.when(found["latest"] == -F.col("session_no"), found["value"])


def _of_connection_id() -> WindowSpec:
    return Window.partitionBy(_ID_HASH, *_ID).orderBy(*LOG_POSITION)


def _before() -> WindowSpec:
    return _of_connection_id().rowsBetween(Window.unboundedPreceding, -1)


def _up_to_now() -> WindowSpec:
    return _of_connection_id().rowsBetween(Window.unboundedPreceding, Window.currentRow)


def _of_previous(name: str) -> Column:
    """Takes a value of the request before, of the same connection id."""
    return F.col(f"who_before.{name}" if name in (*WHO, STATED_SOFTWARE) else f"{name}_before")


def _differs(name: str) -> Column:
    return F.coalesce(F.col(f"who.{name}"), F.lit("")) != F.coalesce(_of_previous(name), F.lit(""))


def _is_boundary(settings: Settings) -> Column:
    """Tells whether a new connection begins with a request; the first of a connection id always does."""
    forwarded = F.col("is_forwarded") | _of_previous("is_forwarded")
    evidence = [_other_client(), _software_lost(), _new_handshake(), _other_principal()]
    found = ~forwarded & reduce(or_, evidence)
    was_restarted = F.col("starts_before") > _of_previous("starts_before")
    return (
        _of_previous("api_key").isNull()
        | _was_idle(settings)
        | F.coalesce(was_restarted, F.lit(False))
        | F.coalesce(found, F.lit(False))
    )


def _starts_over() -> Column:
    return F.col("correlation_id") <= _of_previous("correlation_id")


def has_header_v3(version: str = "header_version") -> Column:
    """Tells whether a request has a header that can carry a client instance id (KIP-1313)."""
    return F.coalesce(F.col(version) >= 3, F.lit(False))


def _other_client() -> Column:
    """Tells whether a client id is another one than that before, with a correlation id that does not rise.

    With header v3 a client may leave its id out after the first request (KIP-1313), which logs show as null or as
    nothing. Where it states one again, a correlation id that repeats shows no other client.
    """
    left_out = has_header_v3() & (F.coalesce(F.col("who.client_id"), F.lit("")) == "")
    was_left_out = has_header_v3("header_version_before") & (F.coalesce(_of_previous("client_id"), F.lit("")) == "")
    repeats = F.col("correlation_id") == _of_previous("correlation_id")
    return _starts_over() & _differs("client_id") & ~left_out & ~(was_left_out & repeats)


def _software_lost() -> Column:
    """Tells whether the software name is not what the record before and its request have made of it."""
    known_before = _of_previous("client_software_name") != UNKNOWN
    can_name = _of_previous("api_version") >= FIRST_VERSION_WITH_SOFTWARE
    error = _of_previous("error_code")  # null where no response is logged
    resets = ~can_name | F.coalesce(error == int(ErrorCode.UNSUPPORTED_VERSION), F.lit(True))
    names = can_name & F.coalesce(error == int(ErrorCode.NONE), F.lit(True))
    # null where no name is stated, or none is logged; "unknown" is a name like others
    is_stated = F.col("who.client_software_name") == _of_previous(STATED_SOFTWARE)
    contradicts = can_name & (error == int(ErrorCode.NONE)) & ~is_stated
    explains = F.when(F.col("who.client_software_name") == UNKNOWN, resets).otherwise(names)
    is_api_versions = _of_previous("api_key") == ApiKey.API_VERSIONS
    is_other = known_before & F.col("who.client_software_name").isNotNull() & _differs("client_software_name")
    return (is_other & ~(is_api_versions & explains)) | F.coalesce(is_api_versions & contradicts, F.lit(False))


def _new_handshake() -> Column:
    """Tells whether a client that had been working sends ApiVersions with a correlation id that starts over.

    Clients do repeat ApiVersions on a working connection, but then their correlation ids go on. Those that count
    from somewhere else for ApiVersions alone do so at the start, before any other request.
    """
    was_working = ~_of_previous("api_key").isin(int(ApiKey.API_VERSIONS), int(ApiKey.SASL_HANDSHAKE))
    at_the_start = F.col("correlation_id").between(0, 3)
    software_unknown = F.coalesce(F.col("who.client_software_name"), F.lit(UNKNOWN)) == UNKNOWN
    return (F.col("api_key") == ApiKey.API_VERSIONS) & _starts_over() & was_working & at_the_start & software_unknown


def _other_principal() -> Column:
    return F.col("who.principal").isNotNull() & _of_previous("principal").isNotNull() & _differs("principal")


def _was_idle(settings: Settings) -> Column:
    """Tells whether nothing came for so long that the broker must have closed the connection."""
    idle_micros = F.unix_micros("started_at") - F.unix_micros(_of_previous("logged_at"))
    shows_all = (F.col("stretch") == _of_previous("stretch")) & (F.col("carried.log_level") != "INFO")
    return F.coalesce((idle_micros > settings.max_idle_ms * 1000) & shows_all, F.lit(False))
