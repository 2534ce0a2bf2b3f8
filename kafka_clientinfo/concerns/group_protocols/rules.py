"""The rules on group protocols; their severities and advice are in schemas/rules/group_protocols.toml."""

from ...connections.concern import RequestRule
from ...connections.engine import DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import sentence, shown
from ...tables.spec import CONNECTION_KEY

REQUEST_RULES = {
    "group_type_mismatch": RequestRule(
        "group_type_mismatch",
        "{api_name} v{api_version} with protocol type {stated_protocol_type!r} "
        "was answered with {answered_protocol_type!r}",
    ),
    "went_on_after_inconsistent_protocol": RequestRule(
        "went_on_after_inconsistent",
        "{api_name} v{api_version} after SyncGroup was answered with INCONSISTENT_GROUP_PROTOCOL",
        takes_several=True,
    ),
}


def findings_name_mismatch(connection_groups: DataFrame, connections: DataFrame) -> DataFrame:
    """Find the groups of a connection in which messages name another protocol than was offered or chosen."""
    clients = connections.where(is_client()).select(*CONNECTION_KEY)
    broken = connection_groups.where(F.col("protocol_name_mismatches") > 0)
    return broken.join(clients, on=list(CONNECTION_KEY), how="left_semi").select(
        F.lit("group_name_mismatch").alias("rule"),
        *CONNECTION_KEY,
        "group_id",
        F.col("protocol_name_mismatches").alias("occurrences"),
        F.col("first_mismatch.logged_at").alias("first_at"),
        F.col("last_mismatch_at").alias("last_at"),
        F.col("first_mismatch.source"),
        F.col("first_mismatch.name_mismatch").alias("message"),
        F.col("mismatches_rejected").alias("rejected"),
        F.col("mismatches_taken").alias("taken"),
    )


def findings_inconsistent(group_protocols: DataFrame) -> DataFrame:
    """Find groups in which members were answered with INCONSISTENT_GROUP_PROTOCOL."""
    return group_protocols.where(F.col("inconsistent_group_protocol") > 0).select(
        F.lit("inconsistent_group_protocol").alias("rule"),
        "cluster",
        "group_id",
        F.col("inconsistent_group_protocol").alias("occurrences"),
        F.col("inconsistent_group_protocol").alias("rejected"),
        F.lit(0).cast("bigint").alias("taken"),
        F.col("inconsistent_first_at").alias("first_at"),
        F.col("inconsistent_last_at").alias("last_at"),
        F.col("inconsistent_example").alias("example"),
        sentence("group {group_id!r} was answered with INCONSISTENT_GROUP_PROTOCOL").alias("message"),
    )


def findings_mixed_types(group_type_conflicts: DataFrame) -> DataFrame:
    """Find groups with members of several protocol types at a time; that of the first member is the group's own."""
    types = F.array_join(
        F.transform(F.slice(F.array_sort(F.collect_set("protocol_type")), 1, 5), lambda text: shown(text)), ", "
    )
    of_group = group_type_conflicts.groupBy("cluster", "group_id", "own_type").agg(
        *(
            F.sum(name).alias(alias)
            for name, alias in (("requests", "occurrences"), ("rejected", "rejected"), ("taken", "taken"))
        ),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min("example").alias("example"),
        types.alias("types"),
    )
    message = "group {group_id!r} has members of type {types} at the same time as those of {own_type!r}"
    return of_group.select("*", F.lit("mixed_protocol_types").alias("rule"), sentence(message).alias("message"))


def findings_unoffered(group_unoffered_protocols: DataFrame) -> DataFrame:
    """Find groups that got a protocol type or name which no member of the generation offered."""
    message = sentence(
        "group {group_id!r}: {api_name} v{api_version} was answered with {field} {answered!r}, "
        "which none of the {members} members of generation {generation:?} offered"
    )
    with_message = group_unoffered_protocols.withColumn("message", message)
    return (
        with_message.groupBy("cluster", "group_id")
        .agg(
            F.sum("requests").alias("occurrences"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
            F.min(F.struct("first_at", "message", "example")).alias("first"),
        )
        .select(
            F.lit("protocol_nobody_offered").alias("rule"),
            "cluster",
            "group_id",
            "occurrences",
            F.lit(0).cast("bigint").alias("rejected"),
            F.col("occurrences").alias("taken"),
            "first_at",
            "last_at",
            "first.example",
            "first.message",
        )
    )
