"""Connection boundaries: which requests of a connection id belong to one connection.

Brokers use connection ids again, and the log shows neither the start nor the end of a connection. So the requests of
one id, in log order, are divided before every request that shows that a new connection began:

    evidence                                   | reason
    -------------------------------------------|----------------------------------------------------------------------
    another client id, and the correlation id  | A correlation id alone proves nothing, as clients choose it freely. In
    does not rise                              | the logs of 23 real brokers, both together gave 36 boundaries, all
                                               | true; the correlation id alone gave 821 false ones.
    another software name, or unknown again,   | Only an accepted ApiVersions from v3 on sets the name; only an older or
    and the request before doesn't explain it  | an unsupported one resets it (KIP-511).
    the request before is an accepted          | The broker would log that name.
    ApiVersions that states another name       |
    ApiVersions after others or INVALID_       | A handshake. Clients that repeat ApiVersions on a working connection
    REQUEST; the correlation id starts over    | count on, and one that is answered so must close it (KIP-511).
    another principal                          | Authentication sets it once for a connection.
    the broker was started in between          | No connection survives that (see `starts`).
    silence of more than                       | The broker closes idle connections. This counts only inside one period
    connections.max.idle.ms                    | of the log (see `coverage.periods`).

Software names are no evidence in a log that was evidently sampled or filtered: the request that changed the name may be
missing. Silence is no evidence if the correlation id is the next one: no request is missing, so the connection stayed
open and the broker's limit is higher than assumed. Since 1.0 connection ids hold a counter and are hardly ever used again,
so there any higher correlation id shows that the connection stayed open.

An id that does not name both ends (`logs.connection`) is never divided: its requests may take turns on several connections.
"""

from collections.abc import Mapping

from ..logs.connection import MASKED_IDS
from ..protocol import FIRST_VERSION_WITH_SOFTWARE, UNKNOWN, ApiKey, ErrorCode
from .concern import COMPARED, WHO_FIELDS, LookBack
from .engine import Column, DataFrame, F
from .look_backs import ID, ID_HASH, before, of_connection_id, up_to_now

STATED_SOFTWARE = "stated_software"
"""A field of `who`: the valid name that an ApiVersions request states. If accepted, the next record has it."""
_COMPARED = (*COMPARED, "period", "starts_before", "who", "free_at")
"""Columns of the request before that are compared to find boundaries."""
UNCHANGED = ("unchanged_connections", "unchanged_last_request_at")
"""Columns about the earlier connections of an id, if their requests are left out: how many they are, and the time of
their latest request."""
COMPARED_WITH_BEFORE = ("jumps", "repeats", "outlasts")
"""Results of comparing a request with the one before on its connection: correlation ids are missing in between although
the log has no hole; the correlation id is the same; the silence was longer than connections.max.idle.ms."""
ID_NUMBERS = (ID_HASH, "broker_no")
"""Columns by which, with connection_id, requests are shuffled: groups by all three need no further shuffle."""
_PAUSE_MICROS = 100_000
"""A request that begins so long after the one before it was over did not wait for that one."""
STATE = "state"
"""The column with what an earlier run stored about a connection id for its later requests; see `with_connection`."""


def with_connection(
    requests: DataFrame, earlier: Mapping[str, LookBack] | None = None, *, keeps_state: bool = False
) -> DataFrame:
    """Add to requests the key of their connection and their position in it.

    All windows are over the requests of a connection id in log order, so that Spark shuffles and sorts requests once.
    These windows include earlier connections of the id, so `any_before` and the like compare session_no.

    Args:
        requests: requests with `who` and `carried`, as `with_log_position` returns them. They are all requests of a
            connection id, or those after its first connections, with `UNCHANGED`, or those after a state. A row with a
            value in the column `STATE` is the last request that was judged before; it is not among the results.
        earlier: further columns.
        keeps_state: whether to add the column `STATE`.

    Returns:
        The requests, without period, with session_no (1 for the first connection of an id), opened_at, opened_seq (0,
        except for connections of one id that opened at the same instant or after a clock was set back), seq (0 for a
        connection's first request), `ID_NUMBERS`, `COMPARED_WITH_BEFORE` and `earlier`. Two columns are null except on a
        connection's first request: coverage, and heard_until, the time of the latest request of the id's earlier
        connections. All requests have first_client_id, that of the first request. `STATE` is null except on the last
        request of a connection id.
    """
    has_states = STATE in requests.columns
    numbered = _with_session_no(requests)
    opening = F.when(F.col("is_boundary"), F.struct("row_no", "logged_at", F.col("who.client_id").alias("client_id")))
    # max() picks the latest opening and, of several at that time, the lowest session_no, because it is negated.
    instant = F.when(F.col("is_boundary"), F.struct("logged_at", (-F.col("session_no")).alias("minus_session_no")))
    if has_states:
        opening, instant = F.coalesce(_state("opening"), opening), F.coalesce(_state("newest"), instant)
    look_backs = earlier or {}
    placed = numbered.select(
        *(name for name in numbered.columns if name != "is_boundary"),
        F.last(opening, ignorenulls=True).over(up_to_now()).alias("opening"),
        F.max(instant).over(up_to_now()).alias("newest"),
        *(
            look_back.over_requests(_state(name) if has_states else None).alias(name)
            for name, look_back in look_backs.items()
        ),
        *([F.lead("row_no").over(of_connection_id()).isNull().alias("is_last")] if keeps_state else []),
    )
    is_first = F.col("row_no") == F.col("opening.row_no")
    of_first = ("coverage", "heard_until")
    made = {"opening", "newest", "row_no", "is_last", "stated_id", "woke_at", STATE, *of_first, *look_backs}
    new = placed.where(F.col(STATE).isNull()) if has_states else placed
    return new.select(
        *(name for name in placed.columns if name not in made),
        *(F.when(is_first, F.col(name)).alias(name) for name in of_first),
        *(look_back.then(F.col(name)).alias(name) for name, look_back in look_backs.items()),
        (F.col("row_no") - F.col("opening.row_no")).alias("seq"),
        F.col("opening.logged_at").alias("opened_at"),
        _opened_seq().alias("opened_seq"),
        F.col("opening.client_id").alias("first_client_id"),
        *([_state_after(requests, look_backs).alias(STATE)] if keeps_state else []),
    )


def _state(name: str) -> Column:
    return F.col(f"{STATE}.{name}")


def _state_after(requests: DataFrame, look_backs: Mapping[str, LookBack]) -> Column:
    """Return the state after a request, if it is the last one of its connection id.

    The state holds the columns of the request that windows read, and the results of the windows before it.
    """
    others = ("broker_no", "file_no", "starts_before", "period", "coverage", "carried", STATE, *UNCHANGED)
    request = F.struct(
        *(name for name in requests.columns if name not in others), "carried.file_id", "carried.log_level"
    )
    state = F.struct(
        "session_no",
        "row_no",
        "opening",
        "newest",
        F.greatest("heard_until", "logged_at").alias("heard_until"),
        "stated_id",
        "woke_at",
        *look_backs,
        request.alias("request"),
    )
    return F.when(F.col("is_last"), state)


def as_requests(states: DataFrame) -> DataFrame:
    """Return states as rows for `with_connection`; `carried` has the log_level only."""
    kept = [field for field in states.schema[STATE].dataType if field.name != "request"]  # type: ignore[attr-defined]
    return states.select(
        f"{STATE}.request.*",
        F.struct(f"{STATE}.request.log_level").alias("carried"),
        F.struct(*(_state(field.name).alias(field.name) for field in kept)).alias(STATE),
    ).drop("log_level")


def _with_session_no(requests: DataFrame) -> DataFrame:
    """Add session_no, row_no (within the id), is_boundary, heard_until and `COMPARED_WITH_BEFORE`.

    The columns from which they are computed are dropped.
    """
    has_states = STATE in requests.columns
    is_part = "unchanged_connections" in requests.columns
    unchanged = F.coalesce("unchanged_connections", F.lit(0)) if is_part else F.lit(0)
    latest_before = F.max(F.greatest("logged_at", _state("heard_until")) if has_states else "logged_at").over(before())
    heard_until = F.greatest(latest_before, F.col("unchanged_last_request_at")) if is_part else latest_before
    sessions, rows_before = unchanged, F.lit(0)
    if has_states:
        sessions = unchanged + F.coalesce(_of_state("session_no"), F.lit(0))
        rows_before = F.coalesce(_of_state("row_no") - 1, F.lit(0))
    # Window functions don't nest, so is_boundary, which looks at the request before, becomes a column first.
    hashed = requests.withColumn(ID_HASH, F.xxhash64(*ID))
    followed = hashed.select(
        "*",
        *(F.lag(name).over(of_connection_id()).alias(f"{name}_before") for name in _COMPARED),
        (F.row_number().over(of_connection_id()) + rows_before).alias("row_no"),
        heard_until.alias("heard_until"),
    )
    stated_id = F.when(~_leaves_id_out(), F.coalesce("who.client_id", F.lit("")))
    knows_it = ~_leaves_id_out() | _begins_anew()  # what an earlier connection stated is not this one's
    if has_states:  # the last request may have left it out
        stated_id, knows_it = F.coalesce(stated_id, _state("stated_id")), F.col(STATE).isNotNull() | knows_it
    stated = F.when(knows_it, F.struct(stated_id.alias("client_id")))
    known = followed.select(
        "*", stated.alias("stated"), F.last(stated, ignorenulls=True).over(before()).alias("stated_before")
    )
    is_boundary = F.col(STATE).isNull() & _is_boundary() if has_states else _is_boundary()
    started, free = F.unix_micros("started_at"), F.col("free_at_before")
    woke_at = F.when(_is_boundary() | (started - free > _PAUSE_MICROS), started)
    woke_at = F.coalesce(_state("woke_at"), woke_at) if has_states else woke_at
    cut = known.select(
        *(name for name in hashed.columns if name not in ("period", "starts_before", *UNCHANGED)),
        *(["unchanged_connections"] if is_part else []),
        "row_no",
        "heard_until",
        F.coalesce("stated", "stated_before")["client_id"].alias("stated_id"),
        is_boundary.alias("is_boundary"),
        woke_at.alias("woke_at"),
        *(column.alias(name) for name, column in _compared_with_before().items()),
    )
    return cut.select(
        *(name for name in cut.columns if name not in ("unchanged_connections", "woke_at")),
        F.last("woke_at", ignorenulls=True).over(up_to_now()).alias("woke_at"),
        (F.sum(F.col("is_boundary").cast("int")).over(up_to_now()) + sessions).cast("int").alias("session_no"),
    )


def _opened_seq() -> Column:
    """Number the connections of an id that opened at the same instant, from 0.

    A row carries only the latest opening time of its id, because clients could create any number of them. If a clock
    was set back, a connection opens before that time; it then gets the number of earlier connections of the id, which
    is unique.
    """
    is_newest = F.col("opening.logged_at") == F.col("newest.logged_at")
    first = F.when(is_newest, -F.col("newest.minus_session_no")).otherwise(F.lit(1))
    return F.col("session_no") - first


def _of_state(name: str) -> Column:
    return F.last(_state(name), ignorenulls=True).over(up_to_now())


def _of_previous(name: str) -> Column:
    return F.col(f"who_before.{name}" if name in (*WHO_FIELDS, STATED_SOFTWARE) else f"{name}_before")


def _differs(name: str) -> Column:
    return F.coalesce(F.col(f"who.{name}"), F.lit("")) != F.coalesce(_of_previous(name), F.lit(""))


def _is_boundary() -> Column:
    """Return whether a new connection begins with a request, as the first request of a connection id always does."""
    return _begins_anew() | (~is_masked() & ~_is_forwarded() & _other_client())


def _begins_anew() -> Column:
    """Return whether anything but another client id shows that a new connection begins with a request."""
    # If the log is incomplete, the request that changed the name may be missing.
    is_complete = F.coalesce(F.col("coverage.is_complete"), F.lit(True))
    other_principal = F.col("who.principal") != _of_previous("principal")
    is_other = ~_is_forwarded() & ((is_complete & _software_contradicts()) | _new_handshake() | other_principal)
    was_restarted = F.col("starts_before") > _of_previous("starts_before")
    is_shown = _was_idle() | F.coalesce(was_restarted, F.lit(False)) | F.coalesce(is_other, F.lit(False))
    return _of_previous("api_key").isNull() | (~is_masked() & is_shown)


def _is_forwarded() -> Column:
    """Return whether a request or the one before is forwarded, with the names and correlation ids of other clients."""
    return F.coalesce(F.col("is_forwarded") | _of_previous("is_forwarded"), F.lit(True))


def is_masked() -> Column:
    """Return whether a connection id does not name both ends, so that its requests may be of several connections."""
    return F.col("connection_id").like(MASKED_IDS)


def _starts_over() -> Column:
    return F.col("correlation_id") <= _of_previous("correlation_id")


def has_header_v3(version: str = "header_version") -> Column:
    """Return whether a request has a header that can carry a client instance id (KIP-1313)."""
    return F.coalesce(F.col(version) >= 3, F.lit(False))


def _other_client() -> Column:
    """Return whether the client id differs from the one before and the correlation id does not rise.

    With header v3 a client may leave its id out after the first request (KIP-1313); logs then show null or an empty
    text. So an id is compared with the last one that was stated.
    """
    differs = F.coalesce(F.col("who.client_id"), F.lit("")) != F.col("stated_before.client_id")
    return _starts_over() & F.coalesce(differs, F.lit(False)) & ~_leaves_id_out()


def _leaves_id_out() -> Column:
    return has_header_v3() & (F.coalesce(F.col("who.client_id"), F.lit("")) == "")


def _software_contradicts() -> Column:
    """Return whether the software name shows that another connection began (KIP-511).

    It does in two cases: a known name has changed, although the request before is no ApiVersions that may change it; or
    the request before is an accepted ApiVersions that states another name. An ApiVersions of a version that is refused, or
    below v3, resets the name, and a valid one from v3 on sets it; if no response is logged, either is possible.
    """
    known_before = _of_previous("client_software_name") != UNKNOWN
    states_name = _of_previous("api_version") >= FIRST_VERSION_WITH_SOFTWARE
    error = _of_previous("error_code")  # null if no response is logged
    may_reset = ~states_name | F.coalesce(error == int(ErrorCode.UNSUPPORTED_VERSION), F.lit(True))
    refusals = (int(ErrorCode.UNSUPPORTED_VERSION), int(ErrorCode.INVALID_REQUEST))
    may_set = states_name & F.coalesce(~error.isin(*refusals), F.lit(True))
    # null if the request states no name or the record has none; "unknown" is a name like others
    is_stated = F.col("who.client_software_name") == _of_previous(STATED_SOFTWARE)
    contradicts = states_name & (error == int(ErrorCode.NONE)) & ~is_stated
    explains = F.when(F.col("who.client_software_name") == UNKNOWN, may_reset).otherwise(may_set)
    is_api_versions = _of_previous("api_key") == ApiKey.API_VERSIONS
    is_other = known_before & F.col("who.client_software_name").isNotNull() & _differs("client_software_name")
    return (is_other & ~(is_api_versions & explains)) | F.coalesce(is_api_versions & contradicts, F.lit(False))


def _new_handshake() -> Column:
    """Return whether ApiVersions follows other requests or INVALID_REQUEST, with a correlation id that starts over.

    Some clients count their ApiVersions requests apart, but these send them at the start, before any other request.
    """
    was_closed = F.coalesce(_of_previous("error_code") == int(ErrorCode.INVALID_REQUEST), F.lit(False))
    was_working = ~_of_previous("api_key").isin(int(ApiKey.API_VERSIONS), int(ApiKey.SASL_HANDSHAKE)) | was_closed
    at_the_start = F.col("correlation_id").between(0, 3)
    software_unknown = F.coalesce(F.col("who.client_software_name"), F.lit(UNKNOWN)) == UNKNOWN
    return (F.col("api_key") == ApiKey.API_VERSIONS) & _starts_over() & was_working & at_the_start & software_unknown


def _was_idle() -> Column:
    """Return whether the silence before a request was so long that the broker must have closed the connection."""
    counts_connections = F.col("carried.log_generation").isin("json", "request_header_struct")
    counts_on = (_step() == 1) | (counts_connections & (_step() > 0))
    return F.coalesce(_outlasts_limit() & ~counts_on, F.lit(False))


def _outlasts_limit() -> Column:
    idle_micros = F.unix_micros("started_at") - F.unix_micros(_of_previous("logged_at"))
    return _is_in_one_period() & (idle_micros > F.col("coverage.max_idle_ms") * 1000)


def _is_in_one_period() -> Column:
    return F.col("period") == _of_previous("period")


def _step() -> Column:
    return F.col("correlation_id").cast("bigint") - _of_previous("correlation_id").cast("bigint")


def _compared_with_before() -> dict[str, Column]:
    """Return the columns `COMPARED_WITH_BEFORE`; they are false at a boundary, where they would compare two connections."""
    is_compared = ~_is_boundary() & ~F.col("is_forwarded") & ~is_masked()
    conditions = {
        "jumps": _is_in_one_period() & (_step() > 1),
        "repeats": _step() == 0,
        "outlasts": _outlasts_limit(),
    }
    return {name: F.coalesce(is_compared & condition, F.lit(False)) for name, condition in conditions.items()}
