"""The rules on client instance ids; their severities and advice are in schemas/rules/client_instance_id.toml."""

from ...config.settings import Settings
from ...connections.concern import ConnectionRule, RequestRule
from ...connections.engine import Column, DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import sentence
from ...connections.violations import by_connection_id
from .facts import begins_with_header_v3, is_contradicted, is_enforced, other_telemetry_id


def _is_bound() -> Column:
    """Return whether KIP-1313's rule binds a connection, as its first request or the broker's answers show."""
    is_seen = begins_with_header_v3() & (F.col("start") == "observed")
    return is_client() & (is_seen | is_enforced())


def _has_one_id() -> Column:
    """Return whether different ids on a connection break the rule: it binds, or logged requests break it without the
    first one.
    """
    return _is_bound() | (is_client() & is_contradicted())


REQUEST_RULES = {
    "instance_id_zero": RequestRule(
        "instance_id_is_zero", "{api_name} v{api_version} has header v3 and the zero id", _is_bound
    ),
    "instance_id_missing": RequestRule(
        "instance_id_is_missing", "{api_name} v{api_version} has no client instance id", _is_bound
    ),
    "instance_id_different": RequestRule(
        "instance_id_is_different", "client instance id {client_instance_id!r} after {first_instance_id!r}", _has_one_id
    ),
}


def connection_rules(settings: Settings) -> dict[str, ConnectionRule]:
    """Return the rule that the ids in headers and telemetry must be equal."""
    telemetry = other_telemetry_id()
    message = sentence("client instance id {client_instance_id!r}, in telemetry {telemetry!r}", telemetry=telemetry)
    return {"telemetry_id_different": ConnectionRule(telemetry.isNotNull(), message)}


def findings_listed(listed_connections: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per rule and connection id; it is information if the rule does not bind.

    The rows don't have a connection's key, because they depend on several connections and change with each of them.
    """
    quoted = F.regexp_replace("connection_id", r"[\\\[\](){}.*+?^$|]", r"\\$0")
    # Only JSON records hold the id, and these have the connection id on the same line.
    record = F.lit(r'\] [A-Z]+ Completed request:.*"connection":"')
    return by_connection_id(
        listed_connections,
        settings,
        rule=F.col("rule"),
        at="opened_at",
        then_by=("opened_seq", "instance_id"),  # connections of one id may open at the same time
        grep=F.concat(record, quoted, F.lit('"')),
        message=sentence("client instance id {instance_id!r}{words}", words=F.col("words")),
        binds=F.col("binds"),
    )
