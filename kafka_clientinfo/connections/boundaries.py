"""Connection boundaries: which requests of a connection id belong to one connection.

A connection id is used again, and the log shows neither the end nor the beginning of a connection. A boundary lies
between two requests of one id, in log order, where the evidence says that a new connection began:
- the correlation id does not rise and the client id is another one (36 true boundaries and no false alarm were seen over
  the logs of 23 real brokers; a correlation id alone raises 821 false alarms, as clients are free to choose it);
- the software name falls back to unknown, or becomes another one, and the request before does not explain it: only an
  accepted ApiVersions from v3 on names, and only an older or an unsupported one resets (KIP-511);
- the request before is an accepted ApiVersions that states a name, and the record does not have that name (neither counts in a
  log that shows that it was sampled or filtered, see `stretches`);
- a handshake begins anew, with a correlation id that starts over, after the client had been working;
- the principal is another one: it is fixed when a connection is authenticated;
- the broker was started again in between, as it says in its own log (`starts`): no connection outlives that;
- nothing came for longer than connections.max.idle.ms, after which a broker closes a connection. Silence is evidence
  only in one stretch of the log (see `stretches`). A correlation id that goes on by one has lost nothing meanwhile, so
  that connection was not closed: the broker's limit is another one. From 1.0 on a broker counts its connections in their
  ids, and one that is used again has hardly ever a correlation id that goes on; a limit that was raised is likelier.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from ..protocol import FIRST_VERSION_WITH_SOFTWARE, UNKNOWN, ApiKey, ErrorCode

LOG_POSITION = ("file_no", "byte_offset")
"""Columns that order the requests of a broker as they were logged."""
_ID = ("broker_no", "connection_id")
"""Columns that tell a connection id from those of other brokers: numbers are compared and copied sooner than names."""
WHO = ("principal", "client_id", "client_software_name")
"""Columns of a record by which boundaries are found; a request has them in a struct, `who`."""
STATED_SOFTWARE = "stated_software"
"""The valid name that an ApiVersions request states, in `who` as well: the next record has it if the request was accepted."""
_COMPARED = (
    "api_key", "api_version", "header_version", "error_code", "correlation_id", "is_forwarded", "logged_at", "stretch",
    "starts_before", "who",
)  # fmt: skip
"""Columns of the request before that boundaries are found by."""
KEPT = ("kept_connections", "kept_last_request_at")
"""Columns of requests of which the earlier connections of their id are left out."""
IN_STRETCH = ("jumps", "repeats", "outlasts")
"""What the request before says of the log or the client: correlation ids are left out although the log is complete, an id
is the same again, and the connection outlasts connections.max.idle.ms."""
_ID_HASH = "id_hash"
"""A number made of `_ID`. Requests are sorted by it first: Spark compares a first number without reading rows."""
ID_NUMBERS = (_ID_HASH, "broker_no")
"""Columns by which, with connection_id, requests are shuffled: groups by all three need no further shuffle."""


def with_connection(requests: DataFrame, earlier: Mapping[str, Column] | None = None) -> DataFrame:
    """Adds to requests the key of their connection and their place in it.

    All windows are over the requests of a connection id in log order, so that requests are shuffled and sorted once;
    what looks at earlier requests of the same connection takes note of its number (see `any_before`).

    Args:
        requests: requests with `who` and `carried`, as `with_log_position` makes them; of each connection id all, or all
            from the beginning of one of its connections on, with kept_connections, the number of connections before that,
            and kept_last_request_at, when the latest request of these was logged.
        earlier: further columns, made by `any_before`, `last_before` and `first_up_to_now`.

    Returns:
        The requests with session_no (1 for the first connection of an id), opened_at, opened_seq (0 but for
        connections of one id that open at one instant, or after a clock was set back), seq (0 for a connection's
        first request), `ID_NUMBERS`, `IN_STRETCH` and `earlier`. A connection's first request has its coverage, and
        heard_until, when an earlier connection of the id was heard of last; the others have null. Without stretch.
    """
    is_part = "kept_connections" in requests.columns
    kept = F.col("kept_connections") if is_part else F.lit(0)
    latest_before = F.max("logged_at").over(_before())
    heard_until = F.greatest(latest_before, F.col("kept_last_request_at")) if is_part else latest_before
    # A window function cannot hold another one: the boundary, which looks at the request before, is a column first.
    hashed = requests.withColumn(_ID_HASH, F.xxhash64(*_ID))
    followed = hashed.select(
        "*",
        *(F.lag(name).over(_of_connection_id()).alias(f"{name}_before") for name in _COMPARED),
        F.row_number().over(_of_connection_id()).alias("row_no"),
        heard_until.alias("heard_until"),
    )
    cut = followed.select(
        *(name for name in hashed.columns if name not in ("stretch", "starts_before", *KEPT)),
        *(["kept_connections"] if is_part else []),
        "row_no",
        "heard_until",
        _is_boundary().alias("is_boundary"),
        *(column.alias(name) for name, column in _in_stretch().items()),
    )
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
    is_first = F.col("row_no") == F.col("opening.row_no")
    of_first = ("coverage", "heard_until")
    return placed.select(
        *(name for name in placed.columns if name not in ("opening", "newest", "row_no", *of_first)),
        *(F.when(is_first, F.col(name)).alias(name) for name in of_first),
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


def _is_boundary() -> Column:
    """Tells whether a new connection begins with a request; the first of a connection id always does."""
    forwarded = F.col("is_forwarded") | _of_previous("is_forwarded")
    # What has changed a name may be left out of a log that is not complete.
    is_complete = F.coalesce(F.col("coverage.is_complete"), F.lit(True))
    evidence = [_other_client(), is_complete & _software_lost(), _new_handshake(), _other_principal()]
    found = ~forwarded & reduce(or_, evidence)
    was_restarted = F.col("starts_before") > _of_previous("starts_before")
    return (
        _of_previous("api_key").isNull()
        | _was_idle()
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


def _was_idle() -> Column:
    """Tells whether nothing came for so long that the broker must have closed the connection."""
    counts_connections = F.col("carried.log_generation").isin("json", "request_header_struct")
    goes_on = (_step() == 1) | (counts_connections & (_step() > 0))
    return F.coalesce(_outlasts_limit() & ~goes_on, F.lit(False))


def _outlasts_limit() -> Column:
    """Tells whether the log shows that nothing came for longer than the broker's connections.max.idle.ms."""
    idle_micros = F.unix_micros("started_at") - F.unix_micros(_of_previous("logged_at"))
    return _is_in_one_stretch() & (idle_micros > F.col("coverage.max_idle_ms") * 1000)


def _is_in_one_stretch() -> Column:
    return F.col("stretch") == _of_previous("stretch")


def _step() -> Column:
    """How far the correlation id is above that of the request before."""
    return F.col("correlation_id").cast("bigint") - _of_previous("correlation_id").cast("bigint")


def _in_stretch() -> dict[str, Column]:
    """Makes `IN_STRETCH`; at a boundary they compare two connections, and are false."""
    goes_on = ~_is_boundary() & ~F.col("is_forwarded")
    found = {
        "jumps": _is_in_one_stretch() & (_step() > 1),
        "repeats": _step() == 0,
        "outlasts": _outlasts_limit(),
    }
    return {name: F.coalesce(goes_on & condition, F.lit(False)) for name, condition in found.items()}
