"""What clients do wrong with client ids; the words beside the findings are in schemas/rules/client_id.toml."""

from pyspark.sql import functions as F

from ...connections import RequestRule, host_of_client, sentence, shown

REQUEST_RULES = {
    "client_id_changed": RequestRule(
        "client_id_is_other",
        lambda: sentence("client id ", shown(F.col("client_id")), " after ", shown(F.col("first_client_id"))),
    ),
    "broker_like_client_id": RequestRule(
        "client_id_is_like_a_brokers",
        lambda: sentence("client id ", shown(F.col("client_id")), " from ", host_of_client()),
    ),
}
