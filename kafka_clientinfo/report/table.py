"""A table of the page: columns with kinds, and rows read by one query, cut to a number that the page can carry."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from ..console import safe
from ..filters import Scope

TIMES = ("time", "moment")
"""Kinds of columns with microseconds since the epoch in the query, and seconds on the page."""
LIMIT = 500
"""Rows of one table at most, where nothing else is said."""
TEXT = 240
"""Characters of one text at most."""
_FEW = 125
"""Rows that every table may have, whatever their length."""
_MAY_GO = ("cluster", "group_id", "owners")
_TEXTS = 20
"""Texts of one list at most."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: of the query's column.
        label: its header.
        kind: `text`, `texts` (a list), `count`, `bytes`, `time` and `moment` (seconds since the epoch, UTC, shown to the
            minute and to the second), `flag`, `word` (of a fixed vocabulary), `prose`, `lines` (a list, one below the other), `code` (text to copy), `badge`
            (one of few words, with a colour), or `client` (a text that leads to the client whose place follows the row).
        filtered: whether the page offers to choose by its values.
    """

    name: str
    label: str
    kind: str = "text"
    filtered: bool = False


@dataclass(slots=True)
class Table:
    """A table with its rows.

    Attributes:
        name: its element's id.
        caption: one sentence.
        columns: in order.
        rows: as values of JSON, by `cell`.
        total: rows that there are; more than there are here where they were cut.
        of: what the rows are, in the plural.
        choose: column by name and the value that the page chooses first.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: list[list[Any]] = field(default_factory=list)
    total: int = 0
    of: str = "rows"
    choose: Mapping[str, str] = field(default_factory=dict)

    def add(self, *values: Any) -> None:
        """Add a row; behind the values of the columns, there may be the place of a client."""
        cells = [cell(value, column.kind) for value, column in zip(values, self.columns, strict=False)]
        self.rows.append([*cells, *values[len(cells) :]])

    @property
    def cut(self) -> str:
        """A sentence about rows that are left out; empty where none are."""
        left = self.total - len(self.rows)
        return f"{left:,} of {self.total:,} {self.of} are left out here; the warehouse has all." if left > 0 else ""

    def halve(self) -> None:
        """Leave out the second half of the rows, where there are many."""
        if len(self.rows) > _FEW:
            del self.rows[len(self.rows) // 2 :]

    def as_json(self) -> dict[str, Any]:
        """What the page's script reads."""
        kept = [place for place, column in enumerate(self.columns) if not self._is_idle(place, column)]
        columns = [self.columns[place] for place in kept]
        width = len(self.columns)
        rows = [[*(row[place] for place in kept), *row[width:]] for row in self.rows]
        chosen = {place: self.choose[column.name] for place, column in enumerate(columns) if column.name in self.choose}
        described = [{"label": c.label, "kind": c.kind, "filtered": c.filtered} for c in columns]
        return {"caption": self.caption, "columns": described, "rows": rows, "cut": self.cut, "chosen": chosen}

    def _is_idle(self, place: int, column: Column) -> bool:
        """Whether all rows are of one cluster, or no row has a group or an owner: such a column tells nothing."""
        if column.name == "cluster":
            return len({row[place] for row in self.rows}) == 1
        return column.name in _MAY_GO and not any(row[place] for row in self.rows)


@lru_cache(maxsize=1)
def declarations() -> Mapping[str, Mapping[str, Any]]:
    """The `sections` and `tables` of page.toml, by name."""
    return tomllib.loads((files(__package__) / "page.toml").read_text("utf-8"))


def declared(name: str, **words: str) -> Table:
    """A table of page.toml, without rows; `words` are for its caption."""
    data = declarations()["tables"][name]
    columns = [Column(**column) for column in data["columns"]]
    return Table(name, data["caption"].format(**words), columns, of=data.get("of", "rows"))


def cell(value: Any, kind: str) -> Any:
    """A value as the page gets it: harmless text of bounded length, numbers as they are."""
    if value is None or kind in ("count", "bytes", "flag"):
        return value
    if kind in TIMES:
        return value // 1_000_000
    if kind in ("texts", "lines"):
        return _short_list([safe(item, TEXT) for item in list(value)[:_TEXTS]])
    return safe(value, TEXT)


def _short_list(texts: list[str]) -> list[str]:
    """The first texts, as many as are not longer together than two of the longest; an ellipsis for the others."""
    ends = list(accumulate(map(len, texts)))
    kept = sum(end <= 2 * TEXT for end in ends)
    return texts if kept == len(texts) else [*texts[:kept], "…"]


def select(columns: Sequence[Column]) -> str:
    """The columns as SQL: times as microseconds since the epoch, whatever the zone of who answers."""
    return ", ".join(f"unix_micros({c.name}) AS {c.name}" if c.kind in TIMES else c.name for c in columns)


def read(scope: Scope, name: str) -> Table:
    """A table of page.toml that is read from the warehouse; see there."""
    table, data = declared(name), declarations()["tables"][name]
    order, each = data["order"], data.get("each")
    place = f"row_number() OVER (PARTITION BY {each['column']} ORDER BY {order})" if each else "0"
    most = each["rows"] if each else 0
    found = scope.query(
        f"SELECT {select(table.columns)}, total FROM (SELECT v.*, count(*) OVER () AS total, {place} AS place "
        f"FROM {data['rows']} AS v) AS counted WHERE place <= {most} ORDER BY {order} LIMIT {LIMIT}"
    )
    for *row, total in found:
        table.add(*row)
        table.total = total
    return table
