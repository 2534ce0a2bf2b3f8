"""What clients do wrong with versions; the words beside it are in schemas/rules/usage.toml."""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections.facts import is_client, is_exempt
from ...connections.texts import sentence
from ...protocol import ApiKey
from ...settings import Settings
from ...tables.spec import CONNECTION_KEY


def findings_forbidden(api_usage: DataFrame, connections: DataFrame, settings: Settings) -> DataFrame:
    """Finds connections with versions that the policy forbids, whatever the broker offers (KIP-35)."""
    forbidden = [
        (F.col("api_name") == name) & F.col("api_version").between(first, last)
        for name, first, last in settings.policy.forbidden_versions
    ]
    clients = connections.where(is_client() & ~is_exempt(settings))
    used = api_usage.where(reduce(or_, forbidden, F.lit(False)))
    message = sentence("{api_name} v{api_version}")
    first = F.struct("first_request.seq", "first_request.place", message.alias("message"))
    return _by_connection(
        "policy_api_version", used, clients,
        requests="requests", first_at="first_at", last_at="last_at", first=first,
    )  # fmt: skip


def findings_outside_advertised(api_usage: DataFrame, connections: DataFrame) -> DataFrame:
    """Finds connections with versions that the broker did not offer; what came before its answer could not know it.

    ApiVersions itself may be tried above the range: the broker's answer tells what to fall back to (KIP-511).
    """
    not_offered = ~F.col("within_advertised") & (F.col("api_key") != int(ApiKey.API_VERSIONS))
    used = api_usage.where(not_offered & (F.col("requests_after_answer") > 0))
    offer = sentence("v{advertised_min} to v{advertised_max}")
    message = sentence("{api_name} v{api_version} although {offer:no version} was offered", offer=offer)
    first = F.struct("first_after_answer.seq", "first_after_answer.place", message.alias("message"))
    return _by_connection(
        "api_version_outside_advertised", used, connections.where(is_client()),
        requests="requests_after_answer", first_at="first_at_after_answer", last_at="last_at_after_answer", first=first,
    )  # fmt: skip


def _by_connection(
    rule: str, used: DataFrame, clients: DataFrame, *, requests: str, first_at: str, last_at: str, first: Column
) -> DataFrame:
    """Aggregates uses of versions to a finding per connection; `first` is a use's first request: seq, place and message."""
    found = used.join(clients.select(*CONNECTION_KEY), on=list(CONNECTION_KEY), how="left_semi").groupBy(
        *CONNECTION_KEY
    )
    by_connection = found.agg(
        F.sum(requests).alias("occurrences"),
        F.min(first_at).alias("first_at"),
        F.max(last_at).alias("last_at"),
        F.min_by(F.struct(first["place"].alias("place"), first["message"].alias("message")), first["seq"]).alias(
            "first"
        ),
    )
    return by_connection.select("*", F.lit(rule).alias("rule"), F.col("first.place"), F.col("first.message"))
