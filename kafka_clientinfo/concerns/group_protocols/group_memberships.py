"""How long members were in a group, and what they stated: a relation for `connection_groups`, not a table.

A message shows the state of its member:

    state   | message
    --------|---------------------------------------------------------------------------------------------
    member  | JoinGroup or SyncGroup that the coordinator accepted; lasts until LeaveGroup or a timeout
    pending | JoinGroup answered with MEMBER_ID_REQUIRED: the member may join with the id that it got
    refused | JoinGroup or SyncGroup answered with INCONSISTENT_GROUP_PROTOCOL
    asked   | JoinGroup answered with another error, except that the broker is not the coordinator
    left    | LeaveGroup that the coordinator accepted

Messages of one member, type and state become one entry. A coordinator gives each member its own id, so a member with
the same id at two times was a member all the time in between, unless it left; `stay` counts how often it had left. For
other states, and for members without an id, every minute becomes an entry.
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.examples import example
from ...connections.judged import is_rejected
from ...connections.texts import first_entries_by, merged_texts, with_lists
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY
from .group_messages import GROUP_KEY, JOIN, SYNC, is_not_in, offered_names, unless_empty

_ENTRIES = 100
_LEAVE = "groupId string, memberId string, members array<struct<memberId:string>>"
_NO_COORDINATOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR,
)  # fmt: skip
_ONLY_OF_MESSAGES = {
    "protocol_type": "string", "generation": "int", "session_timeout_ms": "int", "offered": "array<string>",
    "rejected": "int", "taken": "int",
    "source": "struct<logged_at:timestamp,correlation_id:int,log_generation:string,one_line:boolean>",
}  # fmt: skip
"""Columns of messages, with their types, which are null for a member that leaves."""
_ONE = (*GROUP_KEY, "member_id", "protocol_type", "state", "stay", "minute")


def transform(group_messages: DataFrame, judged_requests: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per connection and group with messages that show the state of a member.

    Returns:
        `GROUP_KEY`, memberships (the first `_ENTRIES` entries) and unoffered_answers, which the table
        `connection_groups` describes.
    """
    of_members = group_messages.where(F.col("api_key").isin(JOIN, SYNC)).withColumn("state", _state())
    entries = _entries(_events(of_members, judged_requests), settings)
    lasting = _with_heartbeats(entries, judged_requests)
    names = ("first_at", "last_at", "state", "protocol_type", "member_id", "first_generation", "last_generation",
             "session_timeout_ms", "offered", "requests", "rejected", "taken", "example")  # fmt: skip
    in_time = F.struct("first_at", "last_at", "state", *_not_null("member_id"), *_not_null("protocol_type"), "stay")
    rows = lasting.groupBy(*GROUP_KEY).agg(first_entries_by(in_time, F.struct(*names), _ENTRIES).alias("memberships"))
    return with_lists(rows, _unoffered(of_members, settings), GROUP_KEY)


def _not_null(name: str) -> tuple[Column, Column]:
    return F.col(name).isNotNull().alias(f"has_{name}"), F.coalesce(name, F.lit("")).alias(name)


def _state() -> Column:
    error, is_join = F.col("error_code"), F.col("api_key") == JOIN
    is_taken = F.coalesce(error == int(ErrorCode.NONE), ~F.col("is_rejected"))
    return (
        F.when(is_taken, "member")
        .when(error == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL), "refused")
        .when(is_join & (error == int(ErrorCode.MEMBER_ID_REQUIRED)), "pending")
        .when(is_join & ~F.coalesce(error.isin(*map(int, _NO_COORDINATOR)), F.lit(False)), "asked")
    )


def _events(of_members: DataFrame, judged_requests: DataFrame) -> DataFrame:
    member = F.coalesce(unless_empty("sent.memberId"), unless_empty("answer.memberId"))
    shown = of_members.select(
        *GROUP_KEY,
        "logged_at",
        "seq",
        "state",
        member.alias("member_id"),
        # SyncGroup states no type before v5, but the JoinGroup before it does.
        F.coalesce("sent_type", "joined.type").alias("protocol_type"),
        F.coalesce("answer.generationId", "sent.generationId").alias("generation"),
        F.col("sent.sessionTimeoutMs").alias("session_timeout_ms"),
        F.when(F.col("api_key") == JOIN, offered_names()).alias("offered"),
        F.col("is_rejected").cast("int").alias("rejected"),
        F.col("is_taken").cast("int").alias("taken"),
        "source",
    )
    of_type = shown.where(F.col("state").isNotNull() & F.col("protocol_type").isNotNull())
    return of_type.unionByName(_leaving(judged_requests))


def _leaving(judged_requests: DataFrame) -> DataFrame:
    """Return one row per member that leaves; LeaveGroup may name several from v3 on."""
    was_taken = F.coalesce(F.col("error_code") == int(ErrorCode.NONE), ~is_rejected())
    leaves = judged_requests.where((F.col("api_key") == int(ApiKey.LEAVE_GROUP)) & was_taken).select(
        *CONNECTION_KEY, "logged_at", "seq", F.from_json("request", _LEAVE).alias("sent")
    )
    several = F.coalesce(F.transform("sent.members", lambda m: m["memberId"]), F.array())
    ids = F.filter(F.concat(several, F.array("sent.memberId")), lambda text: text.isNotNull() & (text != ""))
    return leaves.where(F.col("sent.groupId").isNotNull()).select(
        *CONNECTION_KEY, F.col("sent.groupId").alias("group_id"), "logged_at", "seq", F.explode(ids).alias("member_id"),
        F.lit("left").alias("state"), *(F.lit(None).cast(kind).alias(name) for name, kind in _ONLY_OF_MESSAGES.items()),
    )  # fmt: skip


def _entries(events: DataFrame, settings: Settings) -> DataFrame:
    before = Window.partitionBy(*GROUP_KEY, "member_id").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    left = F.coalesce(F.sum((F.col("state") == "left").cast("int")).over(before), F.lit(0))
    # Messages without a member id may be of different members.
    is_one = (F.col("state") == "member") & F.col("member_id").isNotNull()
    minute = F.when(~is_one, F.floor(F.unix_seconds("logged_at") / 60))
    counted = events.withColumns({"stay": left, "minute": minute})
    entries = counted.groupBy(*_ONE).agg(
        F.min("logged_at").alias("first_at"),
        F.max("logged_at").alias("last_at"),
        F.max("seq").alias("last_seq"),
        F.min(F.when(F.col("generation") >= 0, F.col("generation"))).alias("first_generation"),
        F.max(F.when(F.col("generation") >= 0, F.col("generation"))).alias("last_generation"),
        F.max("session_timeout_ms").alias("session_timeout_ms"),
        merged_texts(F.coalesce("offered", F.array())).alias("offered"),
        F.count("*").alias("requests"),
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("rejected", "taken")),
        F.min_by("source", "seq").alias("source"),
    )
    return entries.withColumn("example", example("source", settings.log_zone))


def _with_heartbeats(entries: DataFrame, judged_requests: DataFrame) -> DataFrame:
    """Extend a connection's last membership to its last accepted heartbeat, if the connection names one group only.

    The group of a heartbeat is not known here, because judged requests don't keep the bodies of heartbeats.
    """
    taken = (F.col("api_key") == int(ApiKey.HEARTBEAT)) & (F.col("error_code") == int(ErrorCode.NONE))
    beats = judged_requests.where(taken).groupBy(*CONNECTION_KEY).agg(F.max("latest_at").alias("beats_until"))
    of_connection = Window.partitionBy(*CONNECTION_KEY)
    ends = F.col("state").isin("member", "left")
    is_last = (F.col("state") == "member") & (
        F.col("last_seq") == F.max(F.when(ends, F.col("last_seq"))).over(of_connection)
    )
    is_alone = F.min("group_id").over(of_connection) == F.max("group_id").over(of_connection)
    marked = entries.withColumn("lasts", is_last & is_alone).join(beats, on=list(CONNECTION_KEY), how="left")
    until = F.when(F.col("lasts"), F.greatest("last_at", "beats_until")).otherwise(F.col("last_at"))
    return marked.withColumn("last_at", until)


def _unoffered(of_members: DataFrame, settings: Settings) -> DataFrame:
    """Return the answers to a group's leader with a protocol type or name that its own JoinGroup did not offer."""
    is_join = F.col("api_key") == JOIN
    chosen = of_members.where(F.col("state") == "member").select(
        *GROUP_KEY,
        "seq",
        "logged_at",
        "source",
        "api_name",
        "api_version",
        F.coalesce("answer.generationId", "sent.generationId").alias("generation"),
        "response_type",
        "response_name",
        F.when(is_join, F.col("sent_type")).otherwise(F.col("joined.type")).alias("own_type"),
        F.when(is_join, offered_names()).otherwise(F.col("joined.offered")).alias("own_names"),
        F.when(is_join, F.col("members")).otherwise(F.col("joined.members")).alias("members"),
    )
    other_type = F.when(F.col("response_type") != F.col("own_type"), F.col("response_type"))
    other_name = F.when(is_not_in(F.col("response_name"), F.col("own_names")), F.col("response_name"))
    wrong = chosen.withColumns({"protocol_type": other_type, "protocol_name": other_name}).where(
        F.col("members").isNotNull() & (F.col("protocol_type").isNotNull() | F.col("protocol_name").isNotNull())
    )
    entries = wrong.groupBy(*GROUP_KEY, "generation", "protocol_type", "protocol_name").agg(
        F.min("logged_at").alias("first_at"),
        F.max("logged_at").alias("last_at"),
        F.count("*").alias("requests"),
        F.min_by(F.struct("api_name", "api_version", F.array_sort("members").alias("members"), "source"), "seq").alias(
            "first"
        ),
    )
    shown = entries.withColumn("example", example("first.source", settings.log_zone))
    entry = F.struct(
        "first_at", "last_at", "first.api_name", "first.api_version", "generation", "protocol_type", "protocol_name",
        "first.members", "requests", "example",
    )  # fmt: skip
    in_time = F.struct("first_at", "last_at", F.coalesce("generation", F.lit(-1)).alias("generation"),
                       *_not_null("protocol_type"), *_not_null("protocol_name"))  # fmt: skip
    return shown.groupBy(*GROUP_KEY).agg(first_entries_by(in_time, entry).alias("unoffered_answers"))
