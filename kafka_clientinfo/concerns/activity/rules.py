"""The rule on errors that do not go away; severities and advice are in schemas/rules/activity.toml.

The other rules on activity compare connections, so that a view finds them: schemas/views/internal/findings_activity.sql.
"""

from ...connections.engine import Column, DataFrame, F
from ...connections.facts import is_client
from ...connections.texts import looked_up, sentence
from ...connections.violations import who_in
from ...protocol.api_keys import named_error
from ...tables.spec import CONNECTION_KEY
from .predicates import WATCHED

_MOST_LISTED = 3


def findings_errors(persistent_errors: DataFrame, connections: DataFrame) -> DataFrame:
    """Find connections on which clients repeat requests that cannot succeed, or that were meant for another broker."""
    clients = connections.where(is_client())
    who = who_in(clients)
    names = {code: named_error(code) for code in WATCHED}
    codes = F.array_join(F.transform("codes", lambda code: looked_up(names, code)), ", ")
    message = sentence("{requests} {api_name} requests, {percent} % of them at that time, were answered with {codes}", codes=codes)  # fmt: skip
    of_clients = persistent_errors.join(clients.select(*CONNECTION_KEY, *who), on=list(CONNECTION_KEY), how="inner")
    return (
        of_clients.withColumn("message", message)
        .groupBy("rule", *CONNECTION_KEY, *who)
        .agg(
            F.sum("requests").alias("occurrences"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
            F.min(F.struct("first_at", "api_name", "source")).alias("first"),
            _listed("message").alias("message"),
        )
        .withColumn("source", F.col("first.source"))
        .drop("first")
    )


def _listed(name: str) -> Column:
    """Aggregate texts to one: the first few in order."""
    return F.array_join(F.slice(F.array_sort(F.collect_set(name)), 1, _MOST_LISTED), "; ")
