"""KIP-1313's caching of client ids: what the first request fixed and what was sent again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..tables import SESSION_KEY
from .columns import sorted_texts

_INSTANCE_ID_BYTES = 16
_RULE = "KIP-1313: the client id of the first request applies to the connection"


def transform(session_requests: DataFrame, session_facts: DataFrame) -> DataFrame:
    """Per client session: later client ids compared with the first one; a fact each, the verdict names the rule."""
    cached, found = F.coalesce("cached_client_id", F.lit("")), F.coalesce("client_id", F.lit(""))
    # Before 2.8 a null client id may be logged as the text null.
    as_text = (F.col("log_generation") != "json") & (found == "null") & (cached != "null")
    later = F.col("seq") > 0
    is_same = later & (found == cached)
    is_null = later & (cached != "") & ((found == "") | as_text)
    is_other = later & ~is_same & ~is_null
    folded = session_requests.groupBy(*SESSION_KEY).agg(
        F.max(F.when(F.col("seq") == 0, F.col("cached_client_id"))).alias("cached_client_id"),
        F.sum(is_same.cast("int")).alias("requests_same"),
        F.sum(is_null.cast("int")).alias("requests_null"),
        F.sum(is_other.cast("int")).alias("requests_other"),
        sorted_texts(F.when(is_other, F.col("client_id"))).alias("other_client_ids"),
        F.sum(F.when(is_same, F.octet_length("client_id")).otherwise(0)).alias("redundant_bytes"),
        (F.count("*") * _INSTANCE_ID_BYTES).alias("instance_id_bytes"),
    )
    clients = session_facts.where(F.col("role") == "client").select(*SESSION_KEY)
    verdict = (
        F.when(F.col("requests_other") > 0, "changed")
        .when(F.coalesce("cached_client_id", F.lit("")) == "", "none_sent")
        .when(F.col("requests_null") > 0, "sent_once")
        .otherwise("unchanged")
    )
    return clients.join(folded, on=list(SESSION_KEY), how="inner").select(
        *folded.columns, verdict.alias("verdict"), F.lit(_RULE).alias("rule")
    )
