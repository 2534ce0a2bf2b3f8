"""What members of groups do wrong; the words beside it are in schemas/rules/group_protocols.toml."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections.concern import RequestRule
from ...connections.facts import is_client
from ...connections.texts import sentence, shown, total
from ...tables.spec import CONNECTION_KEY

REQUEST_RULES = {
    "group_type_mismatch": RequestRule(
        "group_type_mismatch",
        "{api_name} v{api_version} with protocol type {stated_protocol_type!r} "
        "was answered with {answered_protocol_type!r}",
    )
}


def findings_name_mismatch(connection_groups: DataFrame, connections: DataFrame) -> DataFrame:
    """Finds the groups of a connection whose messages name another protocol than was offered or chosen."""
    clients = connections.where(is_client()).select(*CONNECTION_KEY)
    broken = connection_groups.where(F.col("protocol_name_mismatches") > 0)
    return broken.join(clients, on=list(CONNECTION_KEY), how="left_semi").select(
        F.lit("group_name_mismatch").alias("rule"),
        *CONNECTION_KEY,
        "group_id",
        F.col("protocol_name_mismatches").alias("occurrences"),
        F.col("first_mismatch.logged_at").alias("first_at"),
        F.col("last_mismatch_at").alias("last_at"),
        F.col("first_mismatch.place"),
        F.col("first_mismatch.name_mismatch").alias("message"),
        F.col("mismatches_rejected").alias("rejected"),
        F.col("mismatches_taken").alias("taken"),
    )


def findings_inconsistent(group_protocols: DataFrame) -> DataFrame:
    """Finds groups whose members were answered with INCONSISTENT_GROUP_PROTOCOL."""
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


def findings_mixed_types(group_protocols: DataFrame) -> DataFrame:
    """Finds groups whose members state several protocol types; the earliest stated is taken as the group's own."""
    others = F.slice("requests_by_type", 2, F.size("requests_by_type"))
    mixed = group_protocols.where(F.size("requests_by_type") > 1).withColumn("others", others)
    types = F.array_join(F.transform("others", lambda other: shown(other["protocol_type"])), ", ")
    own = F.get("requests_by_type", F.lit(0))["protocol_type"]
    return mixed.select(
        F.lit("mixed_protocol_types").alias("rule"),
        "cluster",
        "group_id",
        *(
            total(_of_each(name)).alias(alias)
            for name, alias in (("requests", "occurrences"), ("rejected", "rejected"), ("taken", "taken"))
        ),
        F.array_min(_of_each("first_at")).alias("first_at"),
        F.array_max(_of_each("last_at")).alias("last_at"),
        F.get("others", F.lit(0))["example"].alias("example"),
        sentence("group {group_id!r} has members of type {types} after {own!r}", types=types, own=own).alias("message"),
    )


def _of_each(name: str) -> Column:
    return F.transform("others", lambda other: other[name])
