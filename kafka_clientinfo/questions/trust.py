"""Says how far the logs bear out an answer: how many connections they show from the beginning, and what INFO leaves out."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..printable import safe
from .filters import Filters, Scope

_NAMED = 50
_NOBODY = "No connection of a client is in what was asked for, so that this is no proof that all is well."


def limits_of_logs(scope: Scope) -> list[str]:
    """Return what the logs of a warehouse do not show of the clients in scope; nothing if they show all of them whole."""
    found = [sentence for sentence in (unseen_starts(scope), info_logs(of_cluster(scope))) if sentence is not None]
    return [*found, "By broker: the view what_the_log_shows."] if found and _NOBODY not in found else found


def unseen_starts(scope: Scope) -> str | None:
    """Return a sentence on how many connections of clients the log shows from their beginning; None if it shows all so."""
    ((connections, observed, by_sasl, before),) = scope.query(
        "SELECT count(*), count(CASE WHEN start = 'observed' THEN 1 END), "
        "count(CASE WHEN start = 'hidden_by_sasl' THEN 1 END), count(CASE WHEN start = 'before_log' THEN 1 END) "
        "FROM {connections} AS c WHERE role = 'client'"
    )
    if not connections:
        return _NOBODY
    if observed == connections:
        return None
    reasons = (
        (before, f"{'was' if before == 1 else 'were'} open before it"),
        (by_sasl, "began with SASL, which it hides"),
    )
    others = " and ".join(f"{number:,} {reason}" for number, reason in reasons if number)
    return f"The log shows {observed:,} of {connections:,} connections of clients from their beginning; {others}."


def info_logs(scope: Scope) -> str | None:
    """Return a sentence that names the brokers with all of their log at INFO; None if there are none."""
    brokers = scope.query(
        "SELECT cluster, broker FROM {api_usage} AS u GROUP BY cluster, broker HAVING bool_and(info_only) "
        "ORDER BY cluster, broker"
    ).dicts()
    if not brokers:
        return None
    return (
        f"Brokers that log at INFO: {names_of(brokers)}. There only requests with deprecated versions are logged: whoever "
        "is named is certain, but clients that are fine are not counted."
    )


def of_cluster(scope: Scope) -> Scope:
    """Return the scope without its filters but for the cluster: what a broker logs does not depend on the others."""
    return Scope(scope.tables, Filters(cluster=scope.filters.cluster))


def names_of(brokers: Sequence[Mapping[str, Any]]) -> str:
    """Return the names of brokers as one text, of at most 50 of them."""
    names = [safe(f"{row['cluster']}/{row['broker']}", 80) for row in brokers[:_NAMED]]
    return ", ".join(names) + (" …" if len(brokers) > _NAMED else "")
