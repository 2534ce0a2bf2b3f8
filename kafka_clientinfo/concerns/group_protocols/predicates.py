"""What holds of one JoinGroup or SyncGroup request beside its answer (KIP-559)."""

from pyspark.sql import functions as F

from ...connections.concern import Columns
from ...connections.texts import body_text
from ...protocol import ApiKey


def reads() -> Columns:
    """Reads the protocol types that a member states and is answered with."""
    of_member = F.col("api_key").isin(int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP))
    return {
        "stated_protocol_type": F.when(of_member, body_text("request", "protocolType")),
        "answered_protocol_type": F.when(of_member, body_text("response", "protocolType")),
    }


def predicates() -> Columns:
    """Compares the two types."""
    return {"group_type_mismatch": F.col("answered_protocol_type") != F.col("stated_protocol_type")}
