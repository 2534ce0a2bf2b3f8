"""The rule on forged log records; its severity and advice are in schemas/rules/log_forging.toml."""

from ...connections.concern import RequestRule
from ...connections.engine import F

REQUEST_RULES = {
    "log_forging": RequestRule(
        "forges_log_lines",
        "{forged_lines} forged log lines in {api_name} v{api_version} with client id {client_id!r} "
        "from {remote_host:an unknown host}",
        # Also for connections that look like a broker's: whoever opens a connection may imitate one.
        lambda: F.col("role") != "forwarding",
    )
}
