"""The table `client_inventory`: who uses the cluster, by principal, client id and software, and what they use."""

from ...connections.engine import DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import first_entries, joined_by, number_of_texts, sorted_texts
from ...tables.spec import CLIENT, CONNECTION_KEY

_APIS = 200


def transform(connections: DataFrame, api_usage: DataFrame, connection_groups: DataFrame) -> DataFrame:
    """Return one row per client; a null principal or client id counts as a value."""
    clients = connections.where(is_client())
    facts = clients.groupBy(*CLIENT).agg(
        F.count("*").alias("connections"),
        F.sum("requests").alias("requests"),
        F.min("opened_at").alias("first_seen"),
        F.max("last_request_at").alias("last_seen"),
        number_of_texts("remote_host").alias("host_count"),
        sorted_texts(F.col("remote_host")).alias("hosts"),
        sorted_texts(F.col("broker")).alias("brokers"),
        sorted_texts(F.col("listener")).alias("listeners"),
        sorted_texts(F.col("security_protocol")).alias("security_protocols"),
        F.count_distinct("client_instance_id").alias("instance_count"),
    )
    owners = clients.select(*CONNECTION_KEY, *CLIENT[1:])
    with_apis = joined_by(facts, _apis(owners, api_usage), CLIENT)
    joined = joined_by(with_apis, _groups(owners, connection_groups), CLIENT)
    return joined.withColumns(
        {"group_count": F.coalesce("group_count", F.lit(0)), "groups": F.coalesce("groups", F.array())}
    )


def _apis(owners: DataFrame, api_usage: DataFrame) -> DataFrame:
    """List each client's APIs, with the lowest and highest version that it used."""
    used = api_usage.select(*CONNECTION_KEY, "api_key", "api_name", "api_version", F.col("requests").alias("n"))
    by_api = (
        used.join(owners, on=list(CONNECTION_KEY), how="inner")
        .groupBy(*CLIENT, "api_key", "api_name")
        .agg(
            F.min("api_version").alias("min_version"),
            F.max("api_version").alias("max_version"),
            F.sum("n").alias("requests"),
        )
    )
    entry = F.struct("api_key", "api_name", "min_version", "max_version", "requests")
    return by_api.groupBy(*CLIENT).agg(first_entries(entry, _APIS).alias("apis"))


def _groups(owners: DataFrame, connection_groups: DataFrame) -> DataFrame:
    """List the groups in which each client's connections take part."""
    joined = connection_groups.where(F.col("takes_part")).select(*CONNECTION_KEY, "group_id")
    return (
        joined.join(owners, on=list(CONNECTION_KEY), how="inner")
        .groupBy(*CLIENT)
        .agg(number_of_texts("group_id").alias("group_count"), sorted_texts(F.col("group_id")).alias("groups"))
    )
