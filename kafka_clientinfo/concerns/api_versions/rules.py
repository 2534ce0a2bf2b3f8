"""The rules on ApiVersions; their severities and advice are in schemas/rules/api_versions.toml."""

from ...config.settings import Settings
from ...connections.concern import RequestRule
from ...connections.engine import DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import sentence
from ...connections.violations import by_connection_id
from ...protocol import UNKNOWN
from .facts import knows_software

REQUEST_RULES = {
    "went_on_after_invalid_request": RequestRule(
        "went_on_after_invalid_request", "{api_name} v{api_version} after INVALID_REQUEST", takes_several=True
    ),
    "fallback_ignores_offer": RequestRule(
        "falls_below_offer", "ApiVersions v{api_version} although v{offered_max} was offered", takes_several=True
    ),
    "refused_without_range": RequestRule(
        "refuses_without_offer",
        "ApiVersions v{api_version} was answered with UNSUPPORTED_VERSION and no range",
        lambda: is_client() & knows_software(),
    ),
}


def findings_outdated(client_negotiations: DataFrame, settings: Settings) -> DataFrame:
    """Find connections without ApiVersions although the ranges differ from those that their client learnt earlier.

    Later logs may show what a broker advertised at a time, so every run rebuilds these rows.
    """
    who = ("client_id", "principal", "remote_host")
    reused = client_negotiations.select("cluster", *who, F.explode("reused").alias("entry"))
    outdated = reused.select("cluster", *who, "entry.*").where(F.size("changed") > 0)
    unknown = {name: F.lit(UNKNOWN) for name in ("client_software_name", "client_software_version")}
    return by_connection_id(
        outdated.withColumns({"change": F.get("changed", F.lit(0)), **unknown}),
        settings,
        rule=F.lit("versions_learnt_elsewhere"),
        at="opened_at",
        then_by=(),
        grep=F.lit(""),
        message=sentence(
            "{change.api_name} v{change.api_version} without ApiVersions, where v{change.advertised.low} to "
            "v{change.advertised.high} is offered; earlier, broker {learnt_from} offered v{change.learnt.low} to "
            "v{change.learnt.high} to this client id, principal and host, which two programs may share"
        ),
    )
