"""The error in a response that a client should react to, and the rule on errors that do not go away.

Severities and advice are in schemas/rules/activity.toml, the errors in schemas/watched_errors.toml. The other rules on activity
compare connections, so that a view finds them: schemas/views/internal/findings_activity.sql.
"""

import tomllib

from ... import resources
from ...connections.concern import Columns
from ...connections.engine import DataFrame, F
from ...connections.table import is_client
from ...connections.texts import looked_up, sentence, sorted_texts
from ...connections.violations import who_in
from ...protocol import ErrorCode
from ...protocol.api_keys import named_error
from ...tables.spec import CONNECTION_KEY

_ERRORS = tomllib.loads((resources.schemas() / "watched_errors.toml").read_text("utf-8"))
RULE_OF = {int(ErrorCode[name]): rule for rule, names in _ERRORS.items() for name in names}
"""The rule by the codes of the errors that are watched."""
_MOST_LISTED = 3


def reads() -> Columns:
    """Read the lowest watched error code of a response, its own or one of its entries; null if it has none."""
    codes = F.map_keys("errors")
    watched = F.array_min(F.filter(codes, lambda code: code.isin(*RULE_OF)))
    return {"watched_error": F.when(F.size(codes) > 0, watched)}


def findings_errors(persistent_errors: DataFrame, connections: DataFrame) -> DataFrame:
    """Find connections on which clients repeat requests that cannot succeed, or that were meant for another broker."""
    clients = connections.where(is_client())
    who = who_in(clients)
    names = {code: named_error(code) for code in RULE_OF}
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
            F.array_join(sorted_texts(F.col("message"), _MOST_LISTED), "; ").alias("message"),
        )
        .withColumn("source", F.col("first.source"))
    )
