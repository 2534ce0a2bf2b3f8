"""What a connection's row says of its client ids."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections import Columns, no_texts, only_of_clients, sorted_texts
from ...settings import Settings
from .predicates import stated

_INSTANCE_ID_BYTES = 16


def aggregates() -> Columns:
    """Counts the requests of a connection by how their client id compares with the first one."""
    is_same, is_other = F.col("client_id_is_same"), F.col("client_id_is_other")
    return {
        "same_client_ids": F.count_if(is_same),
        "null_client_ids": F.count_if("client_id_is_null"),
        "different_client_ids": F.count_if(is_other),
        "different_client_id_texts": sorted_texts(F.when(is_other, F.col("client_id"))),
        "repeated_client_id_bytes": F.sum(F.when(is_same, F.octet_length("client_id")).otherwise(0)),
    }


def columns(settings: Settings) -> Columns:
    """Columns of the group client_id of the table `connections`."""
    counts = {
        "client_id_same": F.col("same_client_ids"),
        "client_id_null": F.col("null_client_ids"),
        "client_id_other": F.col("different_client_ids"),
        "other_client_ids": F.coalesce("different_client_id_texts", no_texts()),
        "client_id_redundant_bytes": F.coalesce("repeated_client_id_bytes", F.lit(0)),
        "instance_id_bytes": F.col("requests") * _INSTANCE_ID_BYTES,
        "client_id_verdict": _verdict(),
    }
    return {"client_id": F.col("first.client_id"), **only_of_clients(counts)}


def _verdict() -> Column:
    return (
        F.when(F.col("different_client_ids") > 0, "changed")
        .when(stated("first.client_id", "first.log_generation") == "", "none_sent")
        .when(F.col("null_client_ids") > 0, "sent_once")
        .otherwise("unchanged")
    )
