"""What clients do wrong with versions; the words beside it are in schemas/rules/usage.toml."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections.facts import is_client, is_exempt
from ...connections.texts import any_of, sentence
from ...settings import Settings
from ...tables.spec import CONNECTION_KEY


def findings_forbidden(api_usage: DataFrame, connections: DataFrame, settings: Settings) -> DataFrame:
    """Finds connections with versions that the policy forbids, whatever the broker offers (KIP-35)."""
    forbidden = [
        (F.col("api_name") == name) & F.col("api_version").between(first, last)
        for name, first, last in settings.policy.forbidden_versions
    ]
    clients = connections.where(is_client() & ~is_exempt(settings))
    used = api_usage.where(any_of(forbidden))
    message = sentence("{api_name} v{api_version}")
    return _by_connection("policy_api_version", used, clients, message)


def findings_outside_advertised(api_usage: DataFrame, connections: DataFrame) -> DataFrame:
    """Finds connections with versions that the broker's last answer before them does not offer.

    What came before any answer could not know it, and what a later one says is no reproach.
    """
    used = api_usage.where(F.col("requests_outside") > 0)
    low, high = (F.col(f"first_request_outside.{bound}") for bound in ("low", "high"))
    offer = sentence("v{low} to v{high}", low=low, high=high)
    message = sentence("{api_name} v{api_version} although {offer:no version} was offered", offer=offer)
    clients = connections.where(is_client())
    return _by_connection("api_version_outside_advertised", used, clients, message, "_outside")


def _by_connection(rule: str, used: DataFrame, clients: DataFrame, message: Column, counted: str = "") -> DataFrame:
    """Aggregates uses of versions to a finding per connection; `counted` ends the names of the columns of requests that count."""
    found = used.join(clients.select(*CONNECTION_KEY), on=list(CONNECTION_KEY), how="left_semi")
    of_first = F.struct(f"first_request{counted}.place", message.alias("message"))
    by_connection = found.groupBy(*CONNECTION_KEY).agg(
        F.sum(f"requests{counted}").alias("occurrences"),
        F.min(f"first_at{counted}").alias("first_at"),
        F.max(f"last_at{counted}").alias("last_at"),
        F.min_by(of_first, f"first_request{counted}.seq").alias("first"),
    )
    return by_connection.select("*", F.lit(rule).alias("rule"), F.col("first.place"), F.col("first.message"))
