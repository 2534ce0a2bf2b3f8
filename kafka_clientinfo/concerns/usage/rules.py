"""The rules on API versions; their severities and advice are in schemas/rules/usage.toml."""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.look_backs import UNLESS_PAUSED
from ...connections.table import is_client, is_exempt
from ...connections.texts import any_of, looked_up, sentence
from ...connections.violations import who_in
from ...tables.spec import CONNECTION_KEY

FEATURES = {
    "the consumer group protocol (KIP-848)": "CONSUMER_GROUP_HEARTBEAT CONSUMER_GROUP_DESCRIBE",
    "share groups (KIP-932)": """SHARE_GROUP_HEARTBEAT SHARE_GROUP_DESCRIBE SHARE_FETCH SHARE_ACKNOWLEDGE
        DESCRIBE_SHARE_GROUP_OFFSETS ALTER_SHARE_GROUP_OFFSETS DELETE_SHARE_GROUP_OFFSETS""",
    "streams groups (KIP-1071)": "STREAMS_GROUP_HEARTBEAT STREAMS_GROUP_DESCRIBE",
    "transactions of version 2 (KIP-890)": """ADD_PARTITIONS_TO_TXN ADD_OFFSETS_TO_TXN END_TXN
        TXN_OFFSET_COMMIT INIT_PRODUCER_ID""",
}
"""APIs, by feature, that brokers advertise even if the feature is off."""


def findings_forbidden(api_usage: DataFrame, connections: DataFrame, settings: Settings) -> DataFrame:
    """Find connections with versions that the policy forbids, whatever the broker offers (KIP-35)."""
    forbidden = [
        (F.col("api_name") == name) & F.col("api_version").between(first, last)
        for name, first, last in settings.policy.forbidden_versions
    ]
    clients = connections.where(is_client() & ~is_exempt(settings))
    used = api_usage.where(any_of(forbidden))
    message = sentence("{api_name} v{api_version}")
    return _by_connection("policy_api_version", used, clients, message)


def findings_outside_advertised(api_usage: DataFrame, connections: DataFrame) -> DataFrame:
    """Find connections with versions that the broker's last answer before them does not offer.

    Requests before any answer don't count, and neither do later answers.
    """
    used = api_usage.where(F.col("requests_outside") > 0)
    low, high = (F.col(f"first_request_outside.{bound}") for bound in ("low", "high"))
    offer = sentence("v{low} to v{high}", low=low, high=high)
    message = sentence("{api_name} v{api_version} although {offer:no version} was offered" + UNLESS_PAUSED, offer=offer)
    clients = connections.where(is_client())
    return _by_connection("api_version_outside_advertised", used, clients, message, "_outside")


def findings_unsupported(api_usage: DataFrame, connections: DataFrame) -> DataFrame:
    """Find connections with requests that were answered with UNSUPPORTED_VERSION although their version was offered."""
    used = api_usage.where(F.col("requests_unsupported") > 0)
    features = {api: feature for feature, apis in FEATURES.items() for api in apis.split()}
    low, high = (F.col(f"first_request_unsupported.{bound}") for bound in ("low", "high"))
    off = F.coalesce(looked_up(features, F.col("api_name")), F.lit("a feature that it belongs to"))
    words = "{api_name} v{api_version} was answered with UNSUPPORTED_VERSION although v{low} to v{high} was offered; what is off: {off}"
    message = sentence(words, low=low, high=high, off=off)
    return _by_connection(
        "advertised_version_unsupported", used, connections.where(is_client()), message, "_unsupported"
    )


def _by_connection(rule: str, used: DataFrame, clients: DataFrame, message: Column, counted: str = "") -> DataFrame:
    """Aggregate uses of versions to one finding per connection.

    `counted` is the suffix of the columns of `api_usage` with the requests that count, such as `_outside`.
    """
    who = who_in(clients)
    of_clients = used.join(clients.select(*CONNECTION_KEY), on=list(CONNECTION_KEY), how="left_semi")
    of_first = F.struct(f"first_request{counted}.source", message.alias("message"))
    by_connection = of_clients.groupBy(*CONNECTION_KEY, *who).agg(
        F.sum(f"requests{counted}").alias("occurrences"),
        F.min(f"first_at{counted}").alias("first_at"),
        F.max(f"last_at{counted}").alias("last_at"),
        F.min_by(of_first, f"first_request{counted}.seq").alias("first"),
    )
    return by_connection.select("*", F.lit(rule).alias("rule"), F.col("first.source"), F.col("first.message"))
