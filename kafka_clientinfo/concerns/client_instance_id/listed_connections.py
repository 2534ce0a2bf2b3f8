"""The relation `listed_connections`: the connections in the lists of `client_instances`, with the rules that they break."""

from functools import reduce

from ...connections.engine import Column, DataFrame, F
from ...connections.texts import looked_up, sentence, shown
from ...connections.violations import WHO
from ...tables.spec import CONNECTION_KEY

RULES = ON_TWO_HOSTS, SHARED, RENEWED, ON_SOME_CONNECTIONS = (
    "client_instance_id_on_two_hosts",
    "client_instance_id_shared",
    "client_instance_id_renewed",
    "client_instance_id_on_some_connections",
)
"""The rules that connections in the lists of `client_instances` break."""
_RENEWED = {
    "member_id": ", with the same member id",
    "correlation_ids": ", and its correlation ids go on from there",
    "sequence": "; one process, or as many that ran one after the other",
}
_WITHOUT = {"member_id": ", with the same member id", "": "; one client, or another program under its client id"}
"""Texts for the evidence, or its absence, that the ids belong to one process."""


def transform(client_instances: DataFrame, connections: DataFrame) -> DataFrame:
    """Return a row for each connection in a list of `client_instances` and for each rule that it breaks by that.

    A row has the connection's key and `WHO`, instance_id, the rule, whether it binds, and the words of the finding.
    """
    broken = [
        _two_hosts(client_instances),
        _shared(client_instances),
        _renewed(client_instances),
        _without_id(client_instances),
    ]
    names = (*CONNECTION_KEY, "instance_id", "rule", "binds", "words")
    listed = reduce(lambda rows, others: rows.unionByName(others), (rows.select(*names) for rows in broken))
    return connections.select(*CONNECTION_KEY, *WHO).join(F.broadcast(listed), on=list(CONNECTION_KEY), how="inner")


def _two_hosts(client_instances: DataFrame) -> DataFrame:
    """Find connections that carry a client instance id while another host is connected with it."""
    words = sentence(" from {remote_host} while {other_host} is connected with it")
    return _listed(client_instances, "two_hosts_connections", ON_TWO_HOSTS, words)


def _shared(client_instances: DataFrame) -> DataFrame:
    """Find connections on which a client instance id belongs to another client than before."""
    return _listed(client_instances, "shared_connections", SHARED, sentence(" with {differs}"))


def _renewed(client_instances: DataFrame) -> DataFrame:
    """Find connections on which a client first shows a new id; it is information if it may be another process."""
    ids = F.array_join(F.transform("previous_ids", lambda other: shown(other)), ", ")
    words = sentence(" after {ids}{evidence}", ids=ids, evidence=looked_up(_RENEWED, F.col("evidence")))
    is_shown = F.col("evidence") != "sequence"
    return _listed(client_instances, "renewed_connections", RENEWED, words, is_shown)


def _without_id(client_instances: DataFrame) -> DataFrame:
    """Find connections without an id of a client that has one elsewhere.

    It is information if the connection may be of another program.
    """
    evidence = looked_up(_WITHOUT, F.coalesce("evidence", F.lit("")))
    words = sentence(" is on other connections of its client, not on this one{evidence}", evidence=evidence)
    is_shown = F.col("evidence").isNotNull()
    return _listed(client_instances, "connections_without_id", ON_SOME_CONNECTIONS, words, is_shown)


def _listed(
    client_instances: DataFrame, connections: str, rule: str, words: Column, binds: Column | None = None
) -> DataFrame:
    """Return the connections in one list, with the rule that they break."""
    listed = client_instances.select("cluster", "instance_id", F.explode(connections).alias("entry"))
    added = {"rule": F.lit(rule), "words": words, "binds": F.lit(True) if binds is None else binds}
    return listed.select("cluster", "instance_id", "entry.*").withColumns(added)
