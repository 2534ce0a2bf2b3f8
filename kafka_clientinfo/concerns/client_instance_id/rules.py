"""The rules on client instance ids; their severities and advice are in schemas/rules/client_instance_id.toml."""

from ...config.settings import Settings
from ...connections.concern import ConnectionRule, RequestRule
from ...connections.engine import Column, F
from ...connections.facts import is_client
from ...connections.texts import sentence
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
