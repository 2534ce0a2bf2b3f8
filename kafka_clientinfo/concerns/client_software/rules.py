"""The rules on software names and those of the policy; the rest of them is in schemas/rules/client_software.toml."""

from ...config.settings import Settings
from ...connections.concern import ConnectionRule, RequestRule
from ...connections.engine import Column, F
from ...connections.texts import sentence, shown
from .probable import contradicting_name

_POLICY_RULES = {
    "software_unknown": "policy_unknown_software",
    "software_not_allowed": "policy_software",
    "version_too_old": "policy_version",
    "version_unreadable": "policy_version_unreadable",
    "client_id_not_allowed": "policy_client_id",
}


REQUEST_RULES = {
    "invalid_software_name": RequestRule("software_name_is_invalid", "software name {sent_software_name!r}"),
    "invalid_software_version": RequestRule(
        "software_version_is_invalid", "software version {sent_software_version!r}"
    ),
    "software_name_reset": RequestRule(
        "software_is_reset", "ApiVersions v{api_version} after the name {known_software.name!r}"
    ),
    "software_name_changed": RequestRule(
        "software_is_changed",
        "{sent_software_name!r} {sent_software_version!r} after {known_software.name!r} {known_software.version!r}",
    ),
}


def connection_rules(settings: Settings) -> dict[str, ConnectionRule]:
    """Return the rules that judge a connection by the software at its end: how it behaves, and the policy."""
    software = sentence("software {client_software_name!r} {client_software_version!r}")
    found = contradicting_name(F.col("client_software_name"), F.col("client_software_version"))
    behaves = F.concat(F.lit(" behaves as "), shown(found), sentence(", beginning with {handshake!r}"))
    contradicted = ConnectionRule(found.isNotNull(), F.concat(software, behaves))
    return {"software_name_contradicted": contradicted, **_policy_rules(settings, software)}


def _policy_rules(settings: Settings, software: Column) -> dict[str, ConnectionRule]:
    if not settings.policy.judges:
        return {}
    client_id = sentence("client id {client_id!r}")
    return {
        rule: ConnectionRule(
            F.array_contains("policy_verdicts", verdict), client_id if verdict == "client_id_not_allowed" else software
        )
        for verdict, rule in _POLICY_RULES.items()
    }
