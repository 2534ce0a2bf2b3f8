"""The rules on group protocols; their severities and advice are in schemas/rules/group_protocols.toml."""

from ...connections.concern import RequestRule
from ...connections.engine import DataFrame, F
from ...connections.facts import is_client
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


def findings_name_mismatch(connection_groups: DataFrame) -> DataFrame:
    """Find the groups of a connection in which messages name another protocol than was offered or chosen."""
    broken = connection_groups.where(is_client() & (F.col("protocol_name_mismatches") > 0))
    return broken.select(
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
