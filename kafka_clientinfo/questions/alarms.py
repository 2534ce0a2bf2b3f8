"""What the newest run brought that somebody should know: one line each, with the time from which it is new.

docs/howto/watch.md says what each kind is, and when it rings. The rules are in SQL, the part `changes` of the view
`what_changed`; only who owns a client is known here alone. New is what no run before the newest one of its cluster had read,
or what was logged after a time that somebody asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ..printable import few
from .filters import Scope
from .presenter import without_numbers
from .queries import Programs, programs

KINDS = ("breaks", "unowned", "unknown", "refused", "stopped", "gap", "reader")
_NAMED = 3
Since = Mapping[str, datetime]


class Alarm(NamedTuple):
    """One thing that is new.

    Attributes:
        kind: one of `KINDS`.
        at: when it was first seen; of logs and topics, the last time that all was well.
    """

    kind: str
    cluster: str
    at: datetime
    text: str


def known_before(scope: Scope) -> Since:
    """Return up to when the run before a cluster's newest one had read its logs; nothing of a cluster with one run."""
    return dict(scope.tables.query("SELECT cluster, known_until FROM {known_until} AS k").rows)


def alarms(
    scope: Scope, since: Since, target: str, owned: Mapping[tuple[Any, ...], Iterable[str]] | None, is_asked: bool
) -> list[Alarm]:
    """Return what is new, in the order of `KINDS`; nothing rings of clusters that are not in `since`.

    `owned` has the owners of clients that have any, by the columns of `CLIENT`; it is None if there are no rules on owners.
    `is_asked` says that the time is not that of the run before: then nobody knows which log should have gone on.
    """
    rows = scope.tables.query(
        "SELECT kind, cluster, principal, client_id, client_ids, made_with, is_merged, release, first_seen, what, news_from, "
        "news_until, is_new FROM {changes} AS c WHERE release IS NULL OR release = {target}",
        {"target": target},
    ).dicts()
    owners: dict[tuple[Any, ...], set[str]] = {}
    for (cluster, principal, own_id, *_), names in (owned or {}).items():
        owners.setdefault((cluster, principal, own_id), set()).update(names)
    for row in rows:
        known, begin = since.get(row["cluster"]), row["news_from"]
        if is_asked and known is not None:
            row["is_new"] = known < row["news_until"] and (begin is None or begin <= known)
        ids = row["client_ids"] or [row["client_id"]]
        row["owners"] = [owners.get((row["cluster"], row["principal"], one), set()) for one in ids]
    found: dict[str, list[Alarm]] = {kind: [] for kind in KINDS}
    for row in _of_owners(rows, programs(scope.tables)):
        of_owners = sorted(set().union(*row["owners"]))
        is_left_out = {"unowned": owned is None or bool(of_owners), "stopped": is_asked}
        if row["is_new"] and row["cluster"] in since and not is_left_out.get(row["kind"]):
            owned_by = f"; owner: {', '.join(of_owners)}" if of_owners and row["kind"] in ("breaks", "unknown") else ""
            found[row["kind"]].append(Alarm(row["kind"], row["cluster"], row["first_seen"], row["what"] + owned_by))
    found["unowned"] = _summed_up(found["unowned"])
    return [alarm for kind in KINDS for alarm in sorted(found[kind], key=lambda alarm: alarm[1:])]


def _of_owners(rows: list[dict[str, Any]], names: Programs) -> Iterator[dict[str, Any]]:
    """Yield the rows of programs; in place of one that has ids of several owners, those of its ids.

    An id is not new if another one of the program was known, and has an owner in common with it, or as it none.
    """

    def program(row: Mapping[str, Any]) -> tuple[Any, ...]:
        who = (row["cluster"], row["principal"], names.get(row["client_id"], without_numbers(row["client_id"])))
        return row["kind"], *who, row["made_with"], row["release"]

    several = {program(row) for row in rows if any(row["owners"]) and not set.intersection(*row["owners"])}
    known: dict[tuple[Any, ...], list[set[str]]] = {}
    for row in rows:
        if not row["is_merged"] and not row["is_new"]:
            known.setdefault(program(row), []).append(row["owners"][0])
    for row in rows:
        if row["is_merged"] != (program(row) in several):
            own, others = row["owners"][0], () if row["is_merged"] else known.get(program(row), ())
            if not any(own & other or not (own or other) for other in others):
                yield row


def _summed_up(unowned: list[Alarm]) -> list[Alarm]:
    summed = []
    for cluster in {alarm.cluster for alarm in unowned}:
        own = sorted(alarm for alarm in unowned if alarm.cluster == cluster)
        if len(own) > 1:
            names = few([alarm.text.removesuffix(" is new, and has no owner") for alarm in own], _NAMED)
            text = f"{names} are new, and have no owner"
            own = [Alarm(own[0].kind, cluster, own[0].at, text)]
        summed += own
    return summed


def logs_of_brokers(scope: Scope) -> list[dict[str, Any]]:
    return scope.tables.query(
        "SELECT cluster, broker, until, covered_until FROM {ends_of_logs} AS l ORDER BY cluster, broker"
    ).dicts()
