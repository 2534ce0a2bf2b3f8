"""What forging the log looks like; the words beside it are in schemas/rules/log_forging.toml."""

from pyspark.sql import functions as F

from ...connections.concern import RequestRule

REQUEST_RULES = {
    "log_forging": RequestRule(
        "forges_log_lines",
        "{forged_lines} forged log lines in {api_name} v{api_version} with client id {client_id!r} "
        "from {remote_host:an unknown host}",
        # Also where it looks like a broker's: what makes it look so is written by whoever opened the connection.
        lambda: F.col("role") != "forwarding",
    )
}
