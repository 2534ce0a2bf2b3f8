"""Scope: which part of a warehouse a report is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..filters import Filters
from ..rules import SEVERITY_ORDER
from ..tables.spec import table_specs
from ..tables.views import views

if TYPE_CHECKING:
    from ..engine.answers import Tables

_SPANS: Mapping[str, tuple[str, str]] = {
    "connections": ("opened_at", "last_request_at"),
    "violations": ("first_at", "last_at"),
    "client_instances": ("first_seen", "last_seen"),
    "client_inventory": ("first_seen", "last_seen"),
    "upgrade_impact": ("first_seen", "last_seen"),
}
"""The first and the last time of each table's rows."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables of a warehouse, and which of their rows are asked for.

    Attributes:
        tables: the warehouse's.
        filters: which of their rows.
        owners: names and contacts of clients' owners, by the columns that name a client; empty where none are known.
    """

    tables: "Tables"
    filters: Filters
    owners: Mapping[tuple[Any, ...], Sequence[str]] = field(default_factory=dict)

    @property
    def is_part(self) -> bool:
        """Whether rows outside a span of time are left out."""
        return self.filters.since is not None or self.filters.until is not None

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Answer SQL of the rows in scope; it names tables and views in braces, and `severity_order`."""
        chosen = {name: "{" + name + "}" for name in table_specs()} | {"severity_order": SEVERITY_ORDER}
        for name, (begin, end) in _SPANS.items():
            chosen[name] = f"(SELECT * FROM {{{name}}} WHERE {self.filters.where(begin, end)})"
        chosen |= {name: f"({view.sql.format_map(chosen)})" for name, view in views().items()}
        return self.tables.query(statement.format_map(chosen), self.filters.parameters).rows
