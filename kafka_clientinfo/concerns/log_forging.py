"""The rule on requests with the beginning of a log record inside a text; see schemas/rules/log_forging.toml."""

from ..connections.concern import Columns, Concern, Reads, RequestRule
from ..connections.engine import F


def predicates() -> Columns:
    """Judge a request by the number of forged lines in its texts."""
    return {"forges_log_lines": F.coalesce(F.col("forged_lines") > 0, F.lit(False))}


REQUEST_RULES = {
    "log_forging": RequestRule(
        "forges_log_lines",
        "forged log lines: {forged_lines}, in {api_name} v{api_version} with client id {client_id!r} "
        "from {remote_host:an unknown host}",
        # Also for connections that look like a broker's: whoever opens a connection may imitate one.
        lambda: F.col("role") != "forwarding",
    )
}


CONCERN = Concern(
    name="log_forging",
    reads=Reads(carried=("forged_lines",)),
    predicates=predicates,
    request_rules=REQUEST_RULES,
)
