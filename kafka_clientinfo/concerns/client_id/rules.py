"""What clients do wrong with client ids; the words beside the findings are in schemas/rules/client_id.toml."""

from pyspark.sql import functions as F

from ...connections.concern import RequestRule
from ...connections.facts import is_client
from ...connections.texts import host_of_client, request_name, sentence, shown
from .facts import differs_for_certain

REQUEST_RULES = {
    "client_id_changed": RequestRule(
        "client_id_is_other",
        lambda: sentence("client id ", shown(F.col("client_id")), " after ", shown(F.col("first_client_id"))),
        lambda: is_client() & differs_for_certain(),
    ),
    "client_id_lost": RequestRule(
        "client_id_is_lost",
        lambda: sentence(
            request_name(), " with header v", F.col("header_version").cast("string"),
            " has no client id after ", shown(F.col("first_client_id")),
        ),
    ),
    "broker_like_client_id": RequestRule(
        "client_id_is_like_a_brokers",
        lambda: sentence("client id ", shown(F.col("client_id")), " from ", host_of_client()),
    ),
}  # fmt: skip
