"""The tables of the page: columns with kinds, and a limited number of rows, which one query reads."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from ..printable import safe
from ..questions.filters import Scope

TIMES = ("time", "day", "moment")
"""The kinds of columns that are microseconds since the epoch in the query, and seconds on the page."""
_NUMBERS = ("count", "bytes", "flag", "duration")
LIMIT = 500
TEXT = 240
_FEW = 125
"""Tables with so few rows are not halved."""
_MAY_GO = ("group_id", "owners", "to_do", "topics", "probable_software_name", "probable_versions", "bytes_per_day")
_TEXTS = 20


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        kind: the form of the values:

            - `text`, `prose` (a sentence), `word` (of a fixed vocabulary), `code` (text to copy), `badge` (one of a few
              words, with a colour)
            - `texts` (a list in one line), `lines` (a list, one line each)
            - `count`, `bytes`, `duration` (milliseconds), `flag` (true or false)
            - `day`, `time` and `moment` (seconds since the epoch, shown in UTC to the day, the minute and the second)
            - `client` (a text with a link to a client's details; the client's number is the last value of the row)
        filtered: whether the page has a filter on the column's values.
    """

    name: str
    label: str
    kind: str = "text"
    filtered: bool = False


@dataclass(slots=True)
class Table:
    """A table with its rows.

    Attributes:
        name: the name in page.toml, and on the page.
        total: the number of rows, with those that are left out.
        of: what the rows are, in the plural.
        choose: the filters that the page sets at first: values by the names of their columns.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: list[list[Any]] = field(default_factory=list)
    total: int = 0
    of: str = "rows"
    choose: Mapping[str, str] = field(default_factory=dict)

    def add(self, *values: Any) -> None:
        """Add a row and count it; after the values of the columns, there may be the number of a client in the inventory."""
        self.total += 1
        cells = [cell(value, column.kind) for value, column in zip(values, self.columns, strict=False)]
        self.rows.append([*cells, *values[len(cells) :]])

    def with_rows(self, rows: Iterable[Sequence[Any]]) -> "Table":
        for row in rows:
            self.add(*row)
        return self

    @property
    def cut(self) -> str:
        left = self.total - len(self.rows)
        return f"{left:,} of {self.total:,} {self.of} are left out here; the warehouse has all." if left > 0 else ""

    def halve(self) -> None:
        if len(self.rows) > _FEW:
            del self.rows[len(self.rows) // 2 :]

    def as_json(self) -> dict[str, Any]:
        """Return the table for the page's script, without columns that say nothing."""
        shown = [index for index, column in enumerate(self.columns) if not self._says_nothing(index, column)]
        columns = [self.columns[index] for index in shown]
        width = len(self.columns)
        rows = [[*(row[index] for index in shown), *row[width:]] for row in self.rows]
        chosen = {index: self.choose[column.name] for index, column in enumerate(columns) if column.name in self.choose}
        described = [{"label": c.label, "kind": c.kind, "filtered": c.filtered} for c in columns]
        return {"caption": self.caption, "columns": described, "rows": rows, "cut": self.cut, "chosen": chosen}

    def _says_nothing(self, index: int, column: Column) -> bool:
        if column.name == "cluster":
            return len({row[index] for row in self.rows}) == 1
        return column.name in _MAY_GO and not any(row[index] for row in self.rows)


@lru_cache(maxsize=1)
def declarations() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((files(__package__) / "page.toml").read_text("utf-8"))


def declared(name: str, **words: str) -> Table:
    data = declarations()["tables"][name]
    columns = [Column(**column | {"label": column["label"].format(**words)}) for column in data["columns"]]
    return Table(name, data["caption"].format(**words), columns, of=data.get("of", "rows"))


def cell(value: Any, kind: str) -> Any:
    """Return a value as the page gets it: harmless text of limited length; numbers stay as they are."""
    if value is None or kind in _NUMBERS:
        return value
    if kind in TIMES:
        return value // 1_000_000
    if kind in ("texts", "lines"):
        texts = [safe(item, TEXT) for item in list(value)[:_TEXTS]]
        fitting = sum(length <= 2 * TEXT for length in accumulate(map(len, texts)))  # those up to each text, together
        return texts if fitting == len(texts) else [*texts[:fitting], "…"]
    return safe(value, TEXT)


def select(columns: Sequence[Column]) -> str:
    return ", ".join(f"unix_micros({c.name}) AS {c.name}" if c.kind in TIMES else c.name for c in columns)


def read(scope: Scope, name: str) -> Table:
    """Read a table of page.toml from the warehouse by its `rows`, `order` and `each`; page.toml explains these."""
    minutes = scope.bucket_minutes
    bucket = "an hour" if minutes == 60 else f"{minutes} minutes"
    table, data = declared(name, bucket=bucket), declarations()["tables"][name]
    order, each = data["order"], data.get("each")
    number = f"row_number() OVER (PARTITION BY {each['column']} ORDER BY {order})" if each else "0"
    most = each["rows"] if each else 0
    rows = scope.query(
        f"SELECT {select(table.columns)}, total FROM (SELECT v.*, count(*) OVER () AS total, {number} AS number "
        f"FROM {data['rows']} AS v) AS counted WHERE number <= {most} ORDER BY {order} LIMIT {LIMIT}"
    )
    for *row, total in rows:
        table.add(*row)
        table.total = total
    return table
