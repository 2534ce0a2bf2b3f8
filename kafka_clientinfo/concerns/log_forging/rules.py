"""What forging the log looks like; the words beside it are in schemas/rules/log_forging.toml."""

from pyspark.sql import functions as F

from ...connections.concern import RequestRule
from ...connections.texts import host_of_client, request_name, sentence, shown

REQUEST_RULES = {
    "log_forging": RequestRule(
        "forges_log_lines",
        lambda: sentence(
            F.col("forged_lines").cast("string"), " forged log lines in ", request_name(),
            " with client id ", shown(F.col("client_id")), " from ", host_of_client(),
        ),
        # Also where it looks like a broker's: what makes it look so is written by whoever opened the connection.
        lambda: F.col("role") != "forwarding",
    )
}  # fmt: skip
