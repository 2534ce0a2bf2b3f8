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
        message: the words for what was found, with names of the judged requests' columns (see `texts.sentence`).
        applies: makes the condition on a connection (a row of `connections`) under which it counts; to clients where None.
        binds: makes the condition on such a connection under which its KIP binds; a finding is information elsewhere,
            cites no KIP and blames nobody. It always binds if None.
        takes_several: whether it takes several requests of a connection to break it; where these state several client ids,
            a proxy may share the connection between clients, and either side is blamed.
    """

    predicate: str
    message: str
    applies: Callable[[], Column] | None = None
    binds: Callable[[], Column] | None = None
    takes_several: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionRule:
    """A rule that connections break as a whole: `broken` and `message` are columns of a row of `connections`."""

    broken: Column
    message: Column


class Concern:
    """One concern: the parts that its modules have, as described above; a part that is lacking is empty.

    Args:
        name: of the concern.
        modules: its modules by name.
    """

    def __init__(self, name: str, modules: Mapping[str, ModuleType]) -> None:
        """Find the parts; call none."""

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
