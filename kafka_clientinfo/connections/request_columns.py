"""The columns that requests carry from their records into the judgement, and why.

Rows are narrow, because windows sort and copy them column by column, and texts cost the most. So a request carries only
what is read: `WHO_FIELDS`, `COMPARED` and `SHARED`, and what concerns declare as their `reads`. How a column is carried depends
on who reads it:

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..protocol import ApiKey, ErrorCode
from .engine import Column, F
from .texts import body_text

API_RANGES = "apiKeys array<struct<apiKey:int,minVersion:int,maxVersion:int>>"
"""The fields that are read from the JSON of an ApiVersions response."""
HEARTBEATS = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer",
    ApiKey.SHARE_GROUP_HEARTBEAT: "share",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "streams",
}
"""Heartbeat APIs by group type (the classic one has its own), in which members state their id and what they hold."""
GROUP_APIS = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    *HEARTBEATS,
)
"""APIs of groups; their messages are counted."""
WITH_BODIES = (*GROUP_APIS, ApiKey.LEAVE_GROUP)
"""APIs that keep their bodies as text."""
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


def is_api_versions(key: str = "api_key") -> Column:
    """Return whether a request is ApiVersions."""
    return F.col(key) == int(ApiKey.API_VERSIONS)


def _made() -> Mapping[str, Column]:
    """Return the columns that several concerns read from a record."""
    of_group = F.col("api_key").isin(*map(int, WITH_BODIES))
    answer = F.when(is_api_versions(), F.col("response"))
    return {
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
    only_looked_back_at=("started_at",),
    carried=(
        "cluster", "broker", "file_id", "remote_host", "remote_port", "listener", "security_protocol", "api_name",
        "log_generation", "log_level", "replica_id",
    ),
    made=_made,
)  # fmt: skip
"""What boundaries, the connections' own columns and several concerns read, besides `WHO_FIELDS` and `COMPARED`."""
