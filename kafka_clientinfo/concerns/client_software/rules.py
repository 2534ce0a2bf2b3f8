"""What clients do wrong with their software name, and the policy; the words are in schemas/rules/client_software.toml."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections.concern import ConnectionRule, RequestRule
from ...connections.texts import sentence, shown
from ...settings import Settings

_POLICY_RULES = {
    "software_unknown": "policy_unknown_software",
    "software_not_allowed": "policy_software",
    "version_too_old": "policy_version",
    "version_unreadable": "policy_version_unreadable",
    "client_id_not_allowed": "policy_client_id",
}


def _known_software() -> Column:
    return sentence(shown(F.col("known_software.name")), " ", shown(F.col("known_software.version")))


REQUEST_RULES = {
    "invalid_software_name": RequestRule(
        "software_name_is_invalid", lambda: sentence("software name ", shown(F.col("sent_software_name")))
    ),
    "invalid_software_version": RequestRule(
        "software_version_is_invalid", lambda: sentence("software version ", shown(F.col("sent_software_version")))
    ),
    "software_name_reset": RequestRule(
        "software_is_reset",
        lambda: sentence(
            "ApiVersions v",
            F.col("api_version").cast("string"),
            " after the name ",
            shown(F.col("known_software.name")),
        ),
    ),
    "software_name_changed": RequestRule(
        "software_is_changed",
        lambda: sentence(
            shown(F.col("sent_software_name")), " ", shown(F.col("sent_software_version")), " after ", _known_software()
        ),
    ),
}


def connection_rules(settings: Settings) -> dict[str, ConnectionRule]:
    """Makes the policy's rules; each looks once at a connection, with the software that it had at its end."""
    if not settings.policy.judges:
        return {}
    software = sentence("software ", shown(F.col("client_software_name")), " ", shown(F.col("client_software_version")))
    client_id = sentence("client id ", shown(F.col("client_id")))
    return {
        rule: ConnectionRule(
            F.array_contains("policy_verdicts", verdict), client_id if verdict == "client_id_not_allowed" else software
        )
        for verdict, rule in _POLICY_RULES.items()
    }
