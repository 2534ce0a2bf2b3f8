"""The table `group_protocols`: self-describing messages per group, and its members' types and names (KIP-559)."""

from collections.abc import Sequence

from ...connections.engine import Column, DataFrame, F
from ...connections.texts import LISTED, first_entries, flattened, merged_texts, sorted_texts, total, with_lists
from ...tables.spec import CONNECTION_KEY
from .group_messages import rolled_up

_KEY = ("cluster", "group_id")
_LISTED_MEMBERS = 20


def transform(connection_groups: DataFrame, connections: DataFrame) -> DataFrame:
    """Return one row per group that a member joined or that a DescribeGroups response describes."""
    clients = connections.select(*CONNECTION_KEY, "client_id", "principal")
    rows = connection_groups.join(clients, on=list(CONNECTION_KEY), how="left")
    facts = _facts(rows)
    subscriptions = _last_stated(rows, "subscriptions", "stated_at", ("member_id", "protocol_name"))
    assignments = _last_stated(rows, "assignments", "assigned_at", ("member_id",))
    for part in (_messages(rows), _types(rows), subscriptions, assignments):
        facts = with_lists(facts, part, _KEY)
    topics = F.transform("subscriptions", lambda subscription: subscription["topics"])
    return facts.select(
        "*",
        _sync_requests("self_describing").alias("verified_sync_requests"),
        _sync_requests("not_self_describing").alias("unverified_sync_requests"),
        F.array_sort(F.array_union("protocol_types_request", "protocol_types_response")).alias("protocol_types"),
        F.array_sort(F.array_union("protocol_names_request", "protocol_names_response")).alias("protocol_names"),
        F.when(F.size("kinds") > 1, "mixed").otherwise(F.get("kinds", F.lit(0))).alias("kind"),
        F.size("all_members").cast("bigint").alias("member_count"),
        F.slice("all_members", 1, _LISTED_MEMBERS).alias("members"),
        F.slice(F.array_sort(F.array_distinct(flattened(topics))), 1, 100).alias("topics"),
    )


def _facts(rows: DataFrame) -> DataFrame:
    takes_part = F.col("takes_part")
    return rows.groupBy(*_KEY).agg(
        _kinds().alias("kinds"),
        sorted_texts(F.col("broker")).alias("brokers"),
        F.sum(takes_part.cast("int")).alias("connections"),
        sorted_texts(F.when(takes_part, F.col("client_id"))).alias("client_ids"),
        sorted_texts(F.when(takes_part, F.col("principal"))).alias("principals"),
        *rolled_up(
            sums=(
                "requests", "inconsistent_group_protocol", "inconsistent_join_group", "inconsistent_sync_group",
                "protocol_name_mismatches", "undecoded_payloads",
            ),
            firsts=("first_at", "inconsistent_first_at", "inconsistent_example"),
            lasts=("last_at", "inconsistent_last_at"),
        ),
        *(
            merged_texts(F.col(name)).alias(name)
            for name in (
                "protocol_types_request",
                "protocol_types_response",
                "protocol_names_request",
                "protocol_names_response",
            )
        ),
        merged_texts(F.col("members"), 100_000).alias("all_members"),
    )  # fmt: skip


def _kinds() -> Column:
    """List the kinds of a group; if some messages show a Connect group, classic ones without a type belong to it."""
    kinds = F.array_sort(F.array_distinct(F.flatten(F.collect_list("kinds"))))
    return F.when(F.array_contains(kinds, "connect"), F.array_remove(kinds, "classic")).otherwise(kinds)


def _messages(rows: DataFrame) -> DataFrame:
    """Count, per kind of message, those that are self-describing and those that are not."""
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
    """Count the SyncGroup requests in a list of messages; brokers verify those that state type and name (KIP-559)."""
    chosen = F.filter(messages, lambda m: (m["api_name"] == "SYNC_GROUP") & (m["message"] == "request"))
    return total(F.transform(chosen, lambda m: m["messages"]))


def _types(rows: DataFrame) -> DataFrame:
    """Count how often members sent each protocol type, with an example of each."""
    sent = rows.select(*_KEY, F.explode("requests_by_type").alias("t")).select(*_KEY, "t.*")
    by_type = sent.groupBy(*_KEY, "protocol_type").agg(
        *rolled_up(sums=("requests", "rejected", "taken"), firsts=("first_at", "example"), lasts=("last_at",))
    )
    entry = F.struct("first_at", "protocol_type", "last_at", "requests", "example", "rejected", "taken")
    return by_type.groupBy(*_KEY).agg(first_entries(entry).alias("requests_by_type"))


def _last_stated(rows: DataFrame, name: str, at: str, by: Sequence[str]) -> DataFrame:
    """Return the last entry of each member (or of each member and protocol name), only the `LISTED` latest of them."""
    entries = rows.select(*_KEY, *CONNECTION_KEY[1:], F.explode(name).alias("entry"))
    # The connection's key is part of the order, because two connections may state something at the same time.
    in_time = F.struct(f"entry.{at}", *CONNECTION_KEY[1:])
    last = entries.groupBy(*_KEY, *(f"entry.{part}" for part in by)).agg(
        F.max_by("entry", in_time).alias("entry"), F.max(in_time).alias("in_time")
    )
    names = [part for name in by for part in (F.col(name).isNotNull(), F.coalesce(name, F.lit("")))]
    newest_first = F.reverse(
        F.array_sort(F.collect_list(F.struct("in_time", F.struct(*names).alias("names"), "entry")))
    )
    return last.groupBy(*_KEY).agg(F.slice(F.transform(newest_first, lambda e: e["entry"]), 1, LISTED).alias(name))
