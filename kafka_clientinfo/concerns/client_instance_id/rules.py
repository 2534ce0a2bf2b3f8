"""The rules on client instance ids; their severities and advice are in schemas/rules/client_instance_id.toml."""

from ...config.settings import Settings
from ...connections.concern import ConnectionRule, RequestRule
from ...connections.engine import Column, DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import looked_up, sentence, shown
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


_RENEWED = {
    "member_id": ", with the same member id",
    "correlation_ids": ", and its correlation ids go on from there",
    "sequence": "; one process, or as many that ran one after the other",
}
_WITHOUT = {"member_id": ", with the same member id", "": "; one client, or another program under its client id"}
"""Texts for the evidence, or its absence, that the ids belong to one process."""


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


def findings_on_two_hosts(client_instances: DataFrame, settings: Settings) -> DataFrame:
    """Find connections that carry a client instance id while another host is connected with it."""
    words = sentence(" from {remote_host} while {other_host} is connected with it")
    return _findings("client_instance_id_on_two_hosts", client_instances, "two_hosts_connections", words, settings)


def findings_shared(client_instances: DataFrame, settings: Settings) -> DataFrame:
    """Find connections on which a client instance id belongs to another client than before."""
    words = sentence(" with {differs}")
    return _findings("client_instance_id_shared", client_instances, "shared_connections", words, settings)


def findings_renewed(client_instances: DataFrame, settings: Settings) -> DataFrame:
    """Find connections on which a client first shows a new id; it is information if it may be another process."""
    ids = F.array_join(F.transform("previous_ids", lambda other: shown(other)), ", ")
    words = sentence(" after {ids}{evidence}", ids=ids, evidence=looked_up(_RENEWED, F.col("evidence")))
    is_shown = F.col("evidence") != "sequence"
    return _findings("client_instance_id_renewed", client_instances, "renewed_connections", words, settings, is_shown)


def findings_without_id(client_instances: DataFrame, settings: Settings) -> DataFrame:
    """Find connections without an id of a client that has one elsewhere.

    It is information if the connection may be of another program.
    """
    evidence = looked_up(_WITHOUT, F.coalesce("evidence", F.lit("")))
    words = sentence(" is on other connections of its client, not on this one{evidence}", evidence=evidence)
    is_shown = F.col("evidence").isNotNull()
    rule = "client_instance_id_on_some_connections"
    return _findings(rule, client_instances, "connections_without_id", words, settings, is_shown)


def _findings(
    rule: str,
    client_instances: DataFrame,
    connections: str,
    words: Column,
    settings: Settings,
    binds: Column | None = None,
) -> DataFrame:
    """Return one row per connection id in a list of `client_instances`; it is information if the rule does not bind.

    The rows don't have a connection's key, because they depend on several connections and change with each of them.
    """
    listed = client_instances.select("cluster", "instance_id", F.explode(connections).alias("entry"))
    quoted = F.regexp_replace("connection_id", r"[\\\[\](){}.*+?^$|]", r"\\$0")
    # Only JSON records hold the id, and these have the connection id on the same line.
    record = F.lit(r'\] [A-Z]+ Completed request:.*"connection":"')
    return by_connection_id(
        listed.select("cluster", "instance_id", "entry.*"),
        settings,
        rule=F.lit(rule),
        at="opened_at",
        then_by=("opened_seq", "instance_id"),  # connections of one id may open at the same time
        grep=F.concat(record, quoted, F.lit('"')),
        message=sentence("client instance id {instance_id!r}{words}", words=words),
        binds=binds,
    )
