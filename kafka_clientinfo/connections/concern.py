"""The declaration of a concern: what holds of a request and of a connection, and what breaks a rule.

Every concern is a module or package in `concerns` with a `CONCERN` of the class `Concern`. Its parts are mostly functions, because
column expressions belong to one engine (see `engine`). Every part is optional; no concern imports another.

A concern also declares the columns that requests carry for it from their records into the judgement.
Rows are narrow, because windows sort and copy them column by column, and texts cost the most. So a request carries only
what is read: `WHO_FIELDS`, `COMPARED` and `SHARED`, and what concerns declare as their `reads`. How a column is carried
depends on who reads it:

    in                    | who reads it                                          | carried as
    ----------------------|-------------------------------------------------------|--------------------------------------------
    `WHO_FIELDS`          | `boundaries` compares the text with the one before    | a field of the struct `who`, as a whole
    `COMPARED`            | `boundaries` compares the value with the one before   | a column, and another one named …_before
    `looked_back_at`      | other windows, such as those of a concern's `earlier` | a column
    `only_looked_back_at` | the same, and nothing after them                      | a column that is dropped after them
    `carried`             | no window                                             | a field of the struct `carried`, as a whole

Two more lists say how some columns are aggregated: `DIFFERING` and `OF_FIRST`.

Only the group APIs carry their bodies as text; from all others a concern makes the columns that it needs (`made`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

from ..config.settings import Settings
from ..protocol import ApiKey, ErrorCode
from .engine import Column, DataFrame, F
from .texts import body_text

Columns = Mapping[str, Column]
"""Column expressions by the names of the columns that they make."""
Aggregates = Mapping[str, Column]
"""Aggregates over the judged requests of a connection, by name."""
API_RANGES = "apiKeys array<struct<apiKey:int,minVersion:int,maxVersion:int>>"
"""The fields that are read from the JSON of an ApiVersions response."""
HEARTBEATS = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer",
    ApiKey.SHARE_GROUP_HEARTBEAT: "share",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "streams",
}
"""Heartbeat APIs by group type (the classic one has its own), in which members state their id and what they hold."""
GROUP_APIS = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS, *HEARTBEATS)
WITH_BODIES = (*GROUP_APIS, ApiKey.LEAVE_GROUP)
ALONE = (ApiKey.API_VERSIONS, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.LEAVE_GROUP)
"""APIs with requests that stay rows of their own. Heartbeats are merged, because most repeat the one before."""

WHO_FIELDS = ("principal", "client_id", "client_software_name")
COMPARED = ("api_key", "api_version", "header_version", "error_code", "correlation_id", "is_forwarded", "logged_at")
DIFFERING = ("logged_at", "correlation_id", "byte_offset")
"""Columns in which requests of one kind differ (see `judged`); a row has those of the first request."""
OF_FIRST = (
    "security_protocol", "principal", "listener", "remote_host", "remote_port", "client_id", "correlation_id",
    "api_key", "header_version", "client_software_name", "log_generation", "log_level", "file_id", "byte_offset",
)  # fmt: skip
"""Columns that a connection has of its first request, in the struct `first`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What is read from a request's record: names of columns of the table `requests`, or of columns that are made.

    Attributes:
        looked_back_at, only_looked_back_at, carried: see the module's table. Columns of `made` that are in none of its
            lists are carried too.
        made: returns columns made from a row of `requests`, which replace columns of the same name.
    """

    looked_back_at: tuple[str, ...] = ()
    only_looked_back_at: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    made: Callable[[], Mapping[str, Column]] = dict


@dataclass(frozen=True)
class LookBack:
    """A value computed from a connection's earlier requests; made by `any_before`, `last_before` and `first_up_to_now`.

    Attributes:
        over_requests: returns the window expression over the requests of a connection id; its argument is the value that
            the last run stored, None in a full build.
        then: converts the value after the windows. Requests with the same result may become one row, so that a result with
            many values, as a time, keeps each request a row of its own: reduce it to a boolean here.
    """

    over_requests: Callable[[Column | None], Column]
    then: Callable[[Column], Column] = lambda value: value


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A rule that single requests break.

    Attributes:
        predicate: the name of the judged requests' column that is true for requests that break the rule.
        message: a template for the finding's message, with columns of the judged requests (see `texts.sentence`).
        applies: returns the condition on a connection (a row of `connections`) under which the rule applies; None for
            every client's connection.
        binds: returns the condition on a connection under which the rule's KIP binds; None if it always does. Elsewhere
            a finding is information and cites no KIP; it blames nobody, unless the rule's declaration says otherwise.
        of_broker: returns the condition on a request (a row of the judged requests) that the broker is to blame for, instead of
            whom the rule names; None if it never is. All such requests of a connection must fulfil it.
        takes_several: whether only several requests of a connection can break the rule. If they state several client
            ids, a proxy may share the connection between clients, and the finding blames either side.
    """

    predicate: str
    message: str
    applies: Callable[[], Column] | None = None
    binds: Callable[[], Column] | None = None
    of_broker: Callable[[], Column] | None = None
    takes_several: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionRule:
    """A rule that connections break as a whole, as expressions over a row of `connections`."""

    broken: Column
    message: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """A concern: its parts, in the order in which a build needs them.

    Attributes:
        name: the name of the concern's module or package.
        reads: the columns that it reads from a request's record, besides those that are shared.
        earlier: returns columns computed from the requests before it on its connection, for the predicates: those that are read
            later are predicates, too. Their names are unique.
        predicates: returns columns that say what holds of a request; computed once for all requests of a kind (see
            `judged`), from the columns that they share.
        aggregates: returns aggregates of these columns over a connection; a row may stand for several requests, which
            `requests_where` counts.
        after: the names of the concerns with columns that `columns` uses.
        columns: returns columns of the table `connections`, computed from the aggregates.
        request_rules: the rules that single requests break, by name.
        connection_rules: returns the rules that connections break as a whole, by name.
        finders: functions that return findings on single connections (see `violations.violations`); their parameters are
            named after the relations that they need. What several connections show is found by views.
        transforms: functions that return relations, by the relation's name; their parameters are named after the
            relations that they need. A relation is written if a table of that name is declared; else only other
            transforms read it.
    """

    name: str
    reads: Reads = field(default_factory=Reads)
    earlier: Callable[[], Mapping[str, LookBack]] = dict
    predicates: Callable[[], Columns] = dict
    aggregates: Callable[[], Aggregates] = dict
    after: tuple[str, ...] = ()
    columns: Callable[[Settings], Columns] = lambda settings: {}
    request_rules: Mapping[str, RequestRule] = field(default_factory=dict)
    connection_rules: Callable[[Settings], Mapping[str, ConnectionRule]] = lambda settings: {}
    finders: tuple[Callable[..., DataFrame], ...] = ()
    transforms: Mapping[str, Callable[..., DataFrame]] = field(default_factory=dict)


def is_api_versions(key: str = "api_key") -> Column:
    return F.col(key) == int(ApiKey.API_VERSIONS)


def is_api_versions_success() -> Column:
    """Return whether a request, judged or not, is ApiVersions and was accepted."""
    return is_api_versions() & F.coalesce(F.col("error_code") == int(ErrorCode.NONE), F.lit(False))


def _made() -> Mapping[str, Column]:
    of_group = F.col("api_key").isin(*map(int, WITH_BODIES))
    answer = F.when(is_api_versions(), F.col("response"))
    throttled = F.floor(F.coalesce("throttle_time_ms", F.lit(0)) * 1000)
    return {
        "free_at": (F.unix_micros("logged_at") + throttled).cast("bigint"),  # when the broker takes the next request
        "error_code": F.when(is_api_versions(), _api_versions_error()).otherwise(F.col("error_code")),
        "has_response": F.col("response").isNotNull(),
        "api_ranges": F.from_json(answer, API_RANGES)["apiKeys"],
        **{name: F.when(of_group, F.col(name)) for name in ("request", "response", "group_payloads")},
        "sent_software_name": F.when(is_api_versions(), body_text("request", "clientSoftwareName")),
    }


def _api_versions_error() -> Column:
    """Return the error code of an ApiVersions request; infer it from the release if no response is logged.

    0.10 answers only v0, and 0.11 v0 and v1 (KIP-35); of the two, only 0.11 logs a throttle time.
    """
    highest = F.when(F.col("throttle_time_ms").isNull(), F.lit(0)).otherwise(F.lit(1))
    refused = F.col("api_version") > highest
    inferred = F.when(refused, F.lit(int(ErrorCode.UNSUPPORTED_VERSION))).otherwise(F.lit(int(ErrorCode.NONE)))
    return F.when(F.col("log_generation") == "api_key_struct", inferred).otherwise(F.col("error_code"))


SHARED = Reads(
    looked_back_at=("connection_id", "byte_offset", "client_instance_id", "api_ranges"),
    only_looked_back_at=("started_at", "free_at"),
    carried=(
        "cluster", "broker", "file_id", "remote_host", "remote_port", "listener", "security_protocol", "api_name",
        "log_generation", "log_level", "replica_id",
    ),
    made=_made,
)  # fmt: skip
"""What boundaries, the connections' own columns and several concerns read, besides `WHO_FIELDS` and `COMPARED`."""


def reads_of(concerns: Iterable[Concern]) -> Reads:
    """Return all that is read from a request's record, if these concerns judge it.

    A column that windows read for one concern is a column for all.
    """
    readers = (SHARED, *(concern.reads for concern in concerns))
    names = {
        one.name: tuple(dict.fromkeys(name for reads in readers for name in getattr(reads, one.name)))
        for one in fields(Reads)
        if one.name != "made"
    }
    return Reads(**names, made=lambda: {name: column for reads in readers for name, column in reads.made().items()})
