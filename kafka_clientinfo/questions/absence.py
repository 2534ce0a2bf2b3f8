"""Says what an empty answer was asked for, and what the warehouse has instead."""

from datetime import datetime

from ..printable import safe
from .filters import Filters, Scope
from .trust import of_cluster

_NAMES = 3
"""The number of principals, or of client ids, that are named."""
_LONGEST = 60


def asked(filters: Filters) -> str:
    """Return the filters as options, with times in UTC, such as `--principal User:alice --since 2026-11-21`."""
    given = {name: value for name, value in vars(filters).items() if value is not None}
    return " ".join(f"--{name} {_text(value)}" for name, value in given.items())


def nobody(scope: Scope, subject: str) -> str:
    """Return a text without a full stop: that nobody fits the filters, and what the warehouse has instead.

    Args:
        scope: in which there is nobody.
        subject: the text's beginning, such as `No client`.
    """
    if not (options := asked(scope.filters)):
        return f"{subject} is in the logs that were read"
    return "; ".join([f"{subject} fits {options}", *instead(scope)])


def instead(scope: Scope) -> list[str]:
    """Return texts on the principals, the client ids and the times that the warehouse has, for the filters that are given."""
    filters = scope.filters
    texts = []
    if (principal := filters.principal) is not None:
        if principal and ":" not in principal and not principal.startswith("*"):
            texts.append(f"principals have a type in front: User:{_text(principal)}, or *{_text(principal)}")
        texts += _most_used(scope, "principal", "principals")
    if filters.client is not None:
        texts += _most_used(scope, "client_id", "client ids")
    if filters.since is not None or filters.until is not None:
        times = "SELECT min(opened_at) AS opened, max(last_request_at) AS last FROM {connections} AS c"
        ((opened, last),) = of_cluster(scope).query(times)
        if opened is not None:
            texts.append(f"the warehouse has connections from {_minute(opened)} to {_minute(last)} UTC")
    return texts


def _most_used(scope: Scope, column: str, kind: str) -> list[str]:
    """Return a text that names the values of a column which most connections of clients have; none if there are none."""
    rows = of_cluster(scope).query(
        f"SELECT {column}, count(*) AS number FROM {{connections}} AS c WHERE role = 'client' AND {column} <> '' "
        f"GROUP BY {column} ORDER BY number DESC, {column} LIMIT {_NAMES + 1}"
    )
    names = ", ".join(safe(name, _LONGEST) for name, _ in rows.rows[:_NAMES])
    return [f"the warehouse has the {kind} {names}{', …' if len(rows) > _NAMES else ''}"] if names else []


def _text(value: datetime | str) -> str:
    """Return an option's value: a time to the second without what is zero at its end, or a text of one harmless line."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}".removesuffix(":00").removesuffix("T00:00")
    return safe(value, _LONGEST) if value else "''"


def _minute(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M}"
