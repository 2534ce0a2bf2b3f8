"""What a concern is: a package whose modules say what holds of a request, of a connection, and what breaks a rule.

Every part is optional, and none knows another concern:
- predicates.py: `reads()`, columns read from a request's record; `earlier()`, columns made of the requests before it on
  its connection, and `LOOKS_BACK_AT`, names of the read columns that those look at; `predicates()`, columns that say what
  holds of the request. These are made once for all requests of a kind (see `judged`), so they follow from what those share.
- facts.py: `aggregates()`, aggregates of those columns over a connection, where a row may stand for several requests
  (`requests_where` counts them); `columns(settings)`, the columns of the table `connections` that follow from them; `AFTER`,
  names of the concerns whose columns those read.
- rules.py: `REQUEST_RULES`, `connection_rules(settings)`, and functions named `findings_…`, whose parameters name the
  relations that they need.
- any other module with a function `transform`: a relation of the module's name, made of the relations that its
  parameters name; it is written where a table of that name is declared, and else only read by others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pyspark.sql import Column, DataFrame

from ..settings import Settings

Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A rule that single requests break.

    Attributes:
        predicate: name of the judged requests' column that is true where a request breaks it.
        message: makes the words for what was found, of the columns of judged requests.
        applies: makes the condition on a connection (a row of `connections`) under which it counts; to clients where None.
    """

    predicate: str
    message: Callable[[], Column]
    applies: Callable[[], Column] | None = None


@dataclass(frozen=True, slots=True)
class ConnectionRule:
    """A rule that connections break as a whole: `broken` and `message` are columns of a row of `connections`."""

    broken: Column
    message: Column


@dataclass(frozen=True)
class Concern:
    """One concern: its name and its modules by name."""

    name: str
    modules: Mapping[str, ModuleType]

    def reads(self) -> Columns:
        """Makes the columns that are read from each request's record."""
        return self._columns("predicates", "reads")

    def earlier(self) -> Columns:
        """Makes the columns that look at earlier requests of the connection."""
        return self._columns("predicates", "earlier")

    @property
    def looks_back_at(self) -> tuple[str, ...]:
        """Names of the columns that it reads of a record and looks back at."""
        return getattr(self.modules.get("predicates"), "LOOKS_BACK_AT", ())

    def predicates(self) -> Columns:
        """Makes the columns that say what holds of a request."""
        return self._columns("predicates", "predicates")

    def aggregates(self) -> Columns:
        """Makes the aggregates over a connection's requests."""
        return self._columns("facts", "aggregates")

    def columns(self, settings: Settings) -> Columns:
        """Makes the concern's columns of the table `connections`."""
        return self._columns("facts", "columns", settings)

    @property
    def after(self) -> tuple[str, ...]:
        """Names of the concerns whose columns must be there before its own."""
        return getattr(self.modules.get("facts"), "AFTER", ())

    @property
    def request_rules(self) -> Mapping[str, RequestRule]:
        """Rules that single requests break, by name."""
        return getattr(self.modules.get("rules"), "REQUEST_RULES", {})

    def connection_rules(self, settings: Settings) -> Mapping[str, ConnectionRule]:
        """Makes the rules that connections break as a whole, by name."""
        make = getattr(self.modules.get("rules"), "connection_rules", None)
        return {} if make is None else make(settings)

    @property
    def findings(self) -> tuple[Callable[..., DataFrame], ...]:
        """Functions that find what breaks a rule beyond single connections."""
        rules = self.modules.get("rules")
        return tuple(value for name, value in vars(rules or self).items() if name.startswith("findings_"))

    @property
    def transforms(self) -> Mapping[str, Callable[..., DataFrame]]:
        """Functions that make the concern's relations, by name."""
        return {name: module.transform for name, module in self.modules.items() if hasattr(module, "transform")}

    def _columns(self, module: str, function: str, *arguments: Any) -> Columns:
        make = getattr(self.modules.get(module), function, None)
        return {} if make is None else make(*arguments)
