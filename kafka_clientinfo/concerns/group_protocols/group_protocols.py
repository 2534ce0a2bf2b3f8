"""KIP-559 by group: which messages can be read on their own, and what types and names its members use."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections import merged_texts, sorted_texts
from ...tables.spec import CONNECTION_KEY

_KEY = ("cluster", "group_id")
_LISTED_MEMBERS = 20
_SUMMED = (
    "inconsistent_group_protocol",
    "inconsistent_join_group",
    "inconsistent_sync_group",
    "protocol_name_mismatches",
    "undecoded_payloads",
)


def transform(connection_groups: DataFrame, connections: DataFrame) -> DataFrame:
    """Makes one row per group that a member joined, or that DescribeGroups told about."""
    clients = connections.select(*CONNECTION_KEY, "client_id", "principal")
    rows = connection_groups.join(clients, on=list(CONNECTION_KEY), how="left")
    facts = _facts(rows)
    for part in (_messages(rows), _types(rows), _subscriptions(rows), _assignments(rows)):
        facts = facts.join(part, on=list(_KEY), how="left").withColumns(_or_empty(part))
    return facts.select(
        "*",
        _sync_requests("self_describing").alias("verified_sync_requests"),
        _sync_requests("not_self_describing").alias("unverified_sync_requests"),
        F.array_sort(F.array_union("protocol_types_request", "protocol_types_response")).alias("protocol_types"),
        F.array_sort(F.array_union("protocol_names_request", "protocol_names_response")).alias("protocol_names"),
        F.when(F.size("kinds") > 1, "mixed").otherwise(F.get("kinds", F.lit(0))).alias("kind"),
        F.size("all_members").cast("bigint").alias("member_count"),
        F.slice("all_members", 1, _LISTED_MEMBERS).alias("members"),
        F.slice(F.array_sort(F.array_distinct(F.flatten(_topics()))), 1, 100).alias("topics"),
    )


def _topics() -> Column:
    return F.transform("subscriptions", lambda subscription: subscription["topics"])


def _facts(rows: DataFrame) -> DataFrame:
    takes_part = F.col("takes_part")
    return rows.groupBy(*_KEY).agg(
        _kinds().alias("kinds"),
        sorted_texts(F.col("broker")).alias("brokers"),
        F.sum(takes_part.cast("int")).alias("connections"),
        sorted_texts(F.when(takes_part, F.col("client_id"))).alias("client_ids"),
        sorted_texts(F.when(takes_part, F.col("principal"))).alias("principals"),
        F.sum("requests").alias("requests"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        *(
            merged_texts(F.col(name)).alias(name)
            for name in (
                "protocol_types_request",
                "protocol_types_response",
                "protocol_names_request",
                "protocol_names_response",
            )
        ),
        *(F.sum(name).alias(name) for name in _SUMMED),
        F.min("inconsistent_first_at").alias("inconsistent_first_at"),
        F.max("inconsistent_last_at").alias("inconsistent_last_at"),
        F.min("inconsistent_example").alias("inconsistent_example"),
        merged_texts(F.col("members"), 100_000).alias("all_members"),
    )


def _or_empty(part: DataFrame) -> dict[str, Column]:
    """Makes the lists of `part`, empty for groups that it does not know."""
    lists = [field for field in part.schema.fields if field.name not in _KEY]
    return {field.name: F.coalesce(field.name, F.array().cast(field.dataType)) for field in lists}


def _kinds() -> Column:
    """Lists the kinds seen; a classic message that carries no type belongs to the Connect group that the others show."""
    kinds = F.array_sort(F.array_distinct(F.flatten(F.collect_list("kinds"))))
    return F.when(F.array_contains(kinds, "connect"), F.array_remove(kinds, "classic")).otherwise(kinds)


def _messages(rows: DataFrame) -> DataFrame:
    """Counts messages per kind of message: those that can be read on their own, and those that cannot."""
    counted = (
        rows.select(*_KEY, F.explode("messages").alias("m"))
        .groupBy(*_KEY, "m.api_name", "m.api_version", "m.message")
        .agg(F.sum("m.self_describing").alias("yes"), F.sum("m.not_self_describing").alias("no"))
    )

    def listed(count: str) -> Column:
        entry = F.struct("api_name", "api_version", "message", F.col(count).alias("messages"))
        return F.array_sort(F.collect_list(F.when(F.col(count) > 0, entry)))

    return counted.groupBy(*_KEY).agg(listed("yes").alias("self_describing"), listed("no").alias("not_self_describing"))


def _sync_requests(messages: str) -> Column:
    """Counts the SyncGroup requests in a list of messages: those that state type and name are verified (KIP-559)."""
    chosen = F.filter(messages, lambda m: (m["api_name"] == "SYNC_GROUP") & (m["message"] == "request"))
    counts = F.transform(chosen, lambda m: m["messages"])
    return F.aggregate(counts, F.lit(0).cast("bigint"), lambda total, n: total + n)


def _assignments(rows: DataFrame) -> DataFrame:
    """Takes the last assignment of each member, of the members that were assigned theirs last."""
    last = (
        rows.select(*_KEY, F.explode("assignments").alias("a")).groupBy(*_KEY, "a.member_id").agg(F.max("a").alias("a"))
    )
    newest_first = F.reverse(F.array_sort(F.collect_list(F.struct("a.assigned_at", "a"))))
    return last.groupBy(*_KEY).agg(F.slice(F.transform(newest_first, lambda e: e["a"]), 1, 20).alias("assignments"))


def _types(rows: DataFrame) -> DataFrame:
    """Counts how often members sent each protocol type, with an example of each."""
    by_type = (
        rows.select(*_KEY, F.explode("requests_by_type").alias("t"))
        .groupBy(*_KEY, "t.protocol_type")
        .agg(
            F.min("t.first_at").alias("first_at"),
            F.max("t.last_at").alias("last_at"),
            F.sum("t.requests").alias("requests"),
            F.min("t.example").alias("example"),
            F.sum("t.rejected").alias("rejected"),
            F.sum("t.taken").alias("taken"),
        )
    )
    entry = F.struct("first_at", "protocol_type", "last_at", "requests", "example", "rejected", "taken")
    return by_type.groupBy(*_KEY).agg(F.slice(F.array_sort(F.collect_list(entry)), 1, 20).alias("requests_by_type"))


def _subscriptions(rows: DataFrame) -> DataFrame:
    """Takes the last subscription of each member under each protocol name, of the members that stated theirs last."""
    last = (
        rows.select(*_KEY, F.explode("subscriptions").alias("s"))
        .groupBy(*_KEY, "s.member_id", "s.protocol_name")
        .agg(F.max("s").alias("s"))
    )
    newest_first = F.reverse(F.array_sort(F.collect_list(F.struct("s.stated_at", "s"))))
    return last.groupBy(*_KEY).agg(F.slice(F.transform(newest_first, lambda e: e["s"]), 1, 20).alias("subscriptions"))
