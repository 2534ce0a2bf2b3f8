"""The declaration of a concern: what holds of a request and of a connection, and what breaks a rule.

Every concern is a package in `concerns` with a `CONCERN` of the class `Concern`. Its parts are mostly functions, because
column expressions belong to one engine (see `engine`). Every part is optional; no concern imports another.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

from ..config.settings import Settings
from .boundaries import LookBack
from .engine import Column, DataFrame
from .request_columns import SHARED, Reads

Columns = Mapping[str, Column]
"""Column expressions by the names of the columns that they make."""
Aggregates = Mapping[str, Column]
"""Aggregates over the judged requests of a connection, by name."""


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A rule that single requests break.

    Attributes:
        predicate: the name of the judged requests' column that is true for requests that break the rule.
        message: a template for the finding's message, with columns of the judged requests (see `texts.sentence`).
        applies: returns the condition on a connection (a row of `connections`) under which the rule applies; None for
            every client's connection.
        binds: returns the condition on a connection under which the rule's KIP binds; None if it always does. Elsewhere
            a finding is information, cites no KIP and blames nobody.
        takes_several: whether only several requests of a connection can break the rule. If they state several client
            ids, a proxy may share the connection between clients, and the finding blames either side.
    """

    predicate: str
    message: str
    applies: Callable[[], Column] | None = None
    binds: Callable[[], Column] | None = None
    takes_several: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionRule:
    """A rule that connections break as a whole, as expressions over a row of `connections`."""

    broken: Column
    message: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """A concern: its parts, in the order in which a build needs them.

    Attributes:
        name: the name of the concern's package.
        reads: the columns that it reads from a request's record, besides those that are shared.
        earlier: returns columns computed from the requests before it on its connection; their names are unique.
        predicates: returns columns that say what holds of a request; computed once for all requests of a kind (see
            `judged`), from the columns that they share.
        aggregates: returns aggregates of these columns over a connection; a row may stand for several requests, which
            `requests_where` counts.
        after: the names of the concerns with columns that `columns` uses.
        columns: returns columns of the table `connections`, computed from the aggregates.
        request_rules: the rules that single requests break, by name.
        connection_rules: returns the rules that connections break as a whole, by name.
        finders: functions that return findings on single connections (see `violations.violations`); their parameters are
            named after the relations that they need. What several connections show is found by views.
        transforms: functions that return relations, by the relation's name; their parameters are named after the
            relations that they need. A relation is written if a table of that name is declared; else only other
            transforms read it.
    """

    name: str
    reads: Reads = field(default_factory=Reads)
    earlier: Callable[[], Mapping[str, LookBack]] = dict
    predicates: Callable[[], Columns] = dict
    aggregates: Callable[[], Aggregates] = dict
    after: tuple[str, ...] = ()
    columns: Callable[[Settings], Columns] = lambda settings: {}
    request_rules: Mapping[str, RequestRule] = field(default_factory=dict)
    connection_rules: Callable[[Settings], Mapping[str, ConnectionRule]] = lambda settings: {}
    finders: tuple[Callable[..., DataFrame], ...] = ()
    transforms: Mapping[str, Callable[..., DataFrame]] = field(default_factory=dict)


def reads_of(concerns: Iterable[Concern]) -> Reads:
    """Return all that is read from a request's record, if these concerns judge it.

    A column that windows read for one concern is a column for all.
    """
    readers = (SHARED, *(concern.reads for concern in concerns))
    names = {
        one.name: tuple(dict.fromkeys(name for reads in readers for name in getattr(reads, one.name)))
        for one in fields(Reads)
        if one.name != "made"
    }
    return Reads(**names, made=lambda: {name: column for reads in readers for name, column in reads.made().items()})
