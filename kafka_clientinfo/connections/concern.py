"""The parts of a concern: a package that says what holds of a request and of a connection, and what breaks a rule.

Every part is optional; no concern imports another:

    module         | name                       | meaning
    ---------------|----------------------------|----------------------------------------------------------------
    predicates.py  | reads()                    | columns read from a request's record
                   | earlier()                  | columns computed from the requests before it on its connection
                   | LOOKS_BACK_AT              | the names of the columns of reads() that earlier() uses
                   | predicates()               | columns that say what holds of a request; computed once for all
                   |                            | requests of a kind (see `judged`), from the columns they share
    facts.py       | aggregates()               | aggregates of these columns over a connection; a row may stand
                   |                            | for several requests, which `requests_where` counts
                   | columns(settings)          | columns of the table `connections`, computed from the aggregates
                   | AFTER                      | the names of the concerns that provide columns for columns()
    rules.py       | REQUEST_RULES              | rules that single requests break
                   | connection_rules(settings) | rules that connections break as a whole
                   | findings_…(relations)      | findings beyond single connections
    another module | transform(relations)       | a relation with the module's name; it is written if a table of
                   |                            | that name is declared, else only other transforms read it

The parameters of `findings_…` and `transform` are named after the relations that they need.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..config.settings import Settings
from .engine import Column, DataFrame

Columns = Mapping[str, Column]


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


class Concern:
    """One concern: the parts that its modules define, as described above; a missing part is empty.

    Args:
        name: the name of the concern.
        modules: its modules by name.
    """

    def __init__(self, name: str, modules: Mapping[str, ModuleType]) -> None:
        """Look the parts up without calling them."""

        def part(module: str, attribute: str, otherwise: Any) -> Any:
            return getattr(modules.get(module), attribute, otherwise)

        self.name, self.modules = name, modules
        self.reads: Callable[[], Columns] = part("predicates", "reads", dict)
        self.earlier: Callable[[], Columns] = part("predicates", "earlier", dict)
        self.looks_back_at: tuple[str, ...] = part("predicates", "LOOKS_BACK_AT", ())
        self.predicates: Callable[[], Columns] = part("predicates", "predicates", dict)
        self.aggregates: Callable[[], Columns] = part("facts", "aggregates", dict)
        self.columns: Callable[[Settings], Columns] = part("facts", "columns", lambda settings: {})
        self.after: tuple[str, ...] = part("facts", "AFTER", ())
        self.request_rules: Mapping[str, RequestRule] = part("rules", "REQUEST_RULES", {})
        self.connection_rules: Callable[[Settings], Mapping[str, ConnectionRule]] = part(
            "rules", "connection_rules", lambda settings: {}
        )
        rules = vars(modules["rules"]) if "rules" in modules else {}
        self.findings = tuple(value for name, value in rules.items() if name.startswith("findings_"))
        self.transforms: Mapping[str, Callable[..., DataFrame]] = {
            name: module.transform for name, module in modules.items() if hasattr(module, "transform")
        }
