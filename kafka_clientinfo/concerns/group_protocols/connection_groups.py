"""The table `connection_groups`: a connection's messages and members in each group, and what they state (KIP-559).

A message is self-describing if it carries the protocol type, which is needed to read the bytes in it: see
schemas/bytes_fields.toml. Heartbeats of consumer, share and streams groups always are, because they hold no such bytes.
"""

from ...config.settings import Settings
from ...connections.concern import HEARTBEATS
from ...connections.engine import Column, DataFrame, F
from ...connections.examples import example
from ...connections.table import with_connection_columns
from ...connections.texts import (
    first_entries,
    first_entries_by,
    looked_up,
    merged_texts,
    sorted_texts,
    total,
    with_lists,
)
from ...protocol import ErrorCode
from .group_messages import DESCRIBE, GROUP_KEY, JOIN, SYNC, stated_topics, unless_empty

_MEMBERS = 1000
_TOPICS = 100
_MESSAGE = (*GROUP_KEY, "api_key", "api_name", "api_version", "sent_type")
_ADDED_UP = (
    "requests", "inconsistent_group_protocol", "undecoded_payloads", "protocol_name_mismatches", "mismatches_rejected",
    "mismatches_taken", "mismatches_of_answers", "inconsistent_contradicted", "inconsistent_unstated", "inconsistent_without_join",
)  # fmt: skip
_SUBSCRIPTION_FIELDS = (
    "member_id", "protocol_name", "stated_at", "version", "topics", "owned_partitions", "generation_id", "rack_id",
    "user_data_bytes",
)  # fmt: skip


def transform(
    group_messages: DataFrame, group_memberships: DataFrame, connections: DataFrame, settings: Settings
) -> DataFrame:
    """Return one row per connection and group."""
    facts = _aggregated(group_messages, settings)
    for part in (_subscriptions(group_messages), _assignments(group_messages), group_memberships):
        facts = with_lists(facts, part, GROUP_KEY)
    return with_connection_columns(facts, connections)


def _self_describing(heartbeat: Column) -> tuple[Column, Column]:
    request = (
        F.when(F.col("api_key") == DESCRIBE, F.lit(None).cast("boolean"))
        .when(F.col("api_key") == SYNC, F.col("sent_type").isNotNull() & unless_empty("sent.protocolName").isNotNull())
        .otherwise(heartbeat | F.col("sent_type").isNotNull())
    )
    response = heartbeat | (F.col("api_key") == DESCRIBE) | F.col("response_type").isNotNull()
    # Before 1.0 no response is logged, but its version shows that it had no type.
    too_old = F.col("api_key").isin(JOIN, SYNC) & (F.col("api_version") < 5)
    return request, F.when(F.col("answered") | too_old, response)


def _aggregated(messages: DataFrame, settings: Settings) -> DataFrame:
    request, response = _self_describing(F.col("api_key").isin(*map(int, HEARTBEATS)))
    failed = F.coalesce(F.col("error_code") == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL), F.lit(False))
    mismatches = F.col("name_mismatch").isNotNull()
    first_failure = F.min_by("source", F.when(failed, F.col("seq")))
    by_version = messages.groupBy(*_MESSAGE).agg(
        F.sum("requests").alias("requests"),
        F.min("earliest_at").alias("first_at"),
        F.max("latest_at").alias("last_at"),
        F.min_by("source", "seq").alias("source"),
        _number(request).alias("request_yes"),
        _number(~request).alias("request_no"),
        _number(response).alias("response_yes"),
        _number(~response).alias("response_no"),
        sorted_texts(F.col("response_type")).alias("response_types"),
        sorted_texts(F.col("response_name")).alias("response_names"),
        merged_texts(_sent_names()).alias("sent_names"),
        F.collect_set(F.coalesce(unless_empty("sent.memberId"), unless_empty("answer.memberId"))).alias("members"),
        _number(failed).alias("inconsistent_group_protocol"),
        _number(F.col("is_rejected")).alias("rejected"),
        _number(F.col("is_taken")).alias("taken"),
        F.min(F.when(failed, F.col("earliest_at"))).alias("inconsistent_first_at"),
        F.max(F.when(failed, F.col("latest_at"))).alias("inconsistent_last_at"),
        first_failure.alias("failure_source"),
        _undecoded().alias("undecoded_payloads"),
        F.count("name_mismatch").alias("protocol_name_mismatches"),
        F.count_if(mismatches & F.col("is_rejected")).alias("mismatches_rejected"),
        F.count_if(mismatches & F.col("is_taken")).alias("mismatches_taken"),
        F.count_if(mismatches & F.col("is_of_answer")).alias("mismatches_of_answers"),
        _number(F.coalesce(F.col("refusal") == "chosen", F.lit(False))).alias("inconsistent_contradicted"),
        _number(F.coalesce(F.col("refusal") == "nothing", F.lit(False))).alias("inconsistent_unstated"),
        _number(F.coalesce(F.col("refusal") == "not_known", F.lit(False))).alias("inconsistent_without_join"),
        F.min(F.when(mismatches, F.struct("seq", "logged_at", "source", "name_mismatch"))).alias("first_mismatch"),
        F.max(F.when(mismatches, F.col("logged_at"))).alias("last_mismatch_at"),
    )
    sources = {"example": "source", "inconsistent_example": "failure_source"}
    examples = {name: example(column, settings.log_zone) for name, column in sources.items()}
    return _by_connection_and_group(by_version.withColumns(examples))


def _number(condition: Column) -> Column:
    """Count the messages that meet a condition; null if it is null for all of them."""
    return F.sum(condition.cast("int") * F.col("requests"))


def _sent_names() -> Column:
    names = F.coalesce(F.transform("sent.protocols", lambda p: p["name"]), F.array())
    own = F.array(F.col("sent.protocolName"))
    return F.filter(F.concat(names, own), lambda name: name.isNotNull() & (name != ""))


def _undecoded() -> Column:
    counts = F.coalesce(total(F.map_values("payloads.undecoded")), F.lit(0))
    known = F.when(_by_joined_type().isNotNull(), F.size(_by_joined_type())).otherwise(0)
    return F.sum(F.greatest(counts - known, F.lit(0)))


def _by_joined_type() -> Column:
    """Return the assignments of a SyncGroup without a type, decoded by the type of the JoinGroup before it."""
    return F.try_element_at("payloads.assumed", "joined.type")


def _assignments(messages: DataFrame) -> DataFrame:
    """Return the last assignment of every member, and whether the message or the JoinGroup before it gave the type."""
    typed = F.col("payloads.assignments")
    chosen = F.when(F.col("api_key") == SYNC, F.coalesce(typed, _by_joined_type()))
    type_source = F.when(typed.isNotNull(), "message").otherwise("join_group")
    stated = messages.select(
        *GROUP_KEY, "seq", "logged_at", type_source.alias("type_told_by"), F.explode(_numbered(chosen)).alias("entry")
    )
    last = stated.groupBy(*GROUP_KEY, F.col("entry.stated.memberId").alias("member_id")).agg(
        F.max_by(
            F.struct("logged_at", "type_told_by", F.col("entry.stated").alias("a")), F.struct("seq", "entry.index")
        ).alias("last")
    )
    entry = F.struct(
        "member_id",
        F.col("last.logged_at").alias("assigned_at"),
        F.col("last.type_told_by").alias("type_told_by"),
        F.col("last.a.version").alias("version"),
        F.slice(F.coalesce("last.a.assignedPartitions", F.array()), 1, _TOPICS).alias("partitions"),
    )
    of_members = last.where(F.col("member_id").isNotNull())
    return of_members.groupBy(*GROUP_KEY).agg(first_entries(entry).alias("assignments"))


def _by_connection_and_group(by_version: DataFrame) -> DataFrame:
    is_sent = F.coalesce(F.col("sent_type") == "connect", F.lit(False))
    is_connect = is_sent | F.array_contains("response_types", "connect")
    kind = F.coalesce(looked_up(HEARTBEATS, F.col("api_key")), F.when(is_connect, F.lit("connect")), F.lit("classic"))
    of_type = F.when(
        F.col("sent_type").isNotNull(),
        F.struct(
            F.col("sent_type").alias("protocol_type"),
            "requests",
            "first_at",
            "last_at",
            "example",
            "rejected",
            "taken",
        ),
    )
    return by_version.groupBy(*GROUP_KEY).agg(
        sorted_texts(kind).alias("kinds"),
        F.bool_or(F.col("api_key") != DESCRIBE).alias("takes_part"),
        *(F.sum(name).alias(name) for name in _ADDED_UP),
        *(F.min(name).alias(name) for name in ("first_at", "inconsistent_first_at", "inconsistent_example", "first_mismatch")),
        *(F.max(name).alias(name) for name in ("last_at", "inconsistent_last_at", "last_mismatch_at")),
        sorted_texts(F.col("sent_type")).alias("protocol_types_request"),
        merged_texts(F.col("response_types")).alias("protocol_types_response"),
        merged_texts(F.col("sent_names")).alias("protocol_names_request"),
        merged_texts(F.col("response_names")).alias("protocol_names_response"),
        F.array_sort(F.flatten(F.collect_list(_counts()))).alias("messages"),
        first_entries(of_type, 100).alias("requests_by_type"),
        merged_texts(F.col("members"), _MEMBERS).alias("members"),
        *(
            F.sum(F.when(F.col("api_key") == key, F.col("inconsistent_group_protocol")).otherwise(0)).alias(
                f"inconsistent_{name}"
            )
            for key, name in ((JOIN, "join_group"), (SYNC, "sync_group"))
        ),
    )  # fmt: skip


def _counts() -> Column:
    """Return one entry per kind of message; readers sum the entries of different types of one version."""
    sides = [
        F.struct(
            "api_name",
            "api_version",
            F.lit(side).alias("message"),
            F.coalesce(f"{side}_yes", F.lit(0)).alias("self_describing"),
            F.coalesce(f"{side}_no", F.lit(0)).alias("not_self_describing"),
        )
        for side in ("request", "response")
    ]
    return F.filter(F.array(*sides), lambda m: (m["self_describing"] + m["not_self_describing"]) > 0)


def _subscription(**fields: Column) -> Column:
    return F.struct(*(fields.get(name, F.lit(None)).alias(name) for name in _SUBSCRIPTION_FIELDS))


def _of_consumers() -> Column:
    own = F.filter(
        "payloads.subscriptions", lambda s: s["memberId"].isNotNull() & (s["protocolType"] == F.lit("consumer"))
    )
    return F.transform(
        own,
        lambda s: _subscription(
            member_id=s["memberId"],
            protocol_name=s["protocolName"],
            stated_at=F.col("logged_at"),
            version=s["version"],
            topics=F.slice(F.array_sort(s["topics"]), 1, _TOPICS),
            owned_partitions=F.slice(s["ownedPartitions"], 1, _TOPICS),
            generation_id=s["generationId"],
            rack_id=s["rackId"],
            user_data_bytes=s["userDataBytes"],
        ),
    )


def _of_heartbeat() -> Column:
    return _subscription(
        member_id=F.col("sent.memberId"),
        stated_at=F.col("latest_at"),
        topics=F.slice(F.array_sort(stated_topics()), 1, _TOPICS),
        rack_id=F.col("sent.rackId"),
    )


def _subscriptions(messages: DataFrame) -> DataFrame:
    """Return one row per connection and group, with the last subscription of each member under each protocol name."""
    of_heartbeat = F.filter(
        F.array(_of_heartbeat()), lambda stated: stated["topics"].isNotNull() & stated["member_id"].isNotNull()
    )
    statements = F.when(F.col("api_key") == JOIN, _of_consumers()).when(
        F.col("api_key").isin(*map(int, HEARTBEATS)), of_heartbeat
    )
    stated = messages.select(*GROUP_KEY, "last_seq", F.explode(_numbered(statements)).alias("entry"))
    last = stated.groupBy(*GROUP_KEY, "entry.stated.member_id", "entry.stated.protocol_name").agg(
        F.max_by("entry.stated", F.struct("last_seq", "entry.index")).alias("last")
    )
    by_member_and_name = F.struct(
        "member_id", F.col("protocol_name").isNotNull(), F.coalesce("protocol_name", F.lit(""))
    )
    return last.groupBy(*GROUP_KEY).agg(first_entries_by(by_member_and_name, "last").alias("subscriptions"))


def _numbered(statements: Column) -> Column:
    """Number the statements of a message: it may hold several of one member and name, and the last one counts."""
    return F.transform(statements, lambda stated, index: F.struct(index.alias("index"), stated.alias("stated")))
