"""The output of every command that answers questions: text for a terminal, JSON, CSV or Markdown.

A command makes tables and hands them to `show`. Clients wrote parts of what a log holds, so that each form makes values
harmless:

| form | values | shortened |
|---|---|---|
| text | without control characters | on a terminal, to its width, with a note that says so; see `text_tables` |
| JSON | ASCII; times as ISO 8601, bytes as base64 | never |
| CSV | texts that look like formulas get a quote in front | never |
| Markdown | markup and HTML are escaped | never |
"""

import argparse
import base64
import errno
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.toml_files import shown
from ..errors import ClientInfoError
from ..printable import safe
from ..questions.presenter import ANONYMOUS, counted, identity
from ..questions.trust import limits_of_logs
from . import text_tables

if TYPE_CHECKING:
    from ..questions.filters import Scope
    from ..questions.queries import Tables

_NUMBER = re.compile(r"[0-9]{1,30}")
_MOST_ROWS = 1_000_000_000
"""The largest --limit: LIMIT gets one row more, which both engines accept."""
_IDENTITIES = ("principal", "client_id")
"""Columns in which text tells a missing value from an empty one."""
_NO_OWNER = ("owner", "owners")
"""Columns in which text says that nobody owns a client."""
_REST = "--limit 0, --json and --csv"
_NO_RENAME = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM})
_FORMULA = re.compile(
    r"[\s\0-\x1f\x7f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212\ufb29]|[\t\r\n]"
)
"""The beginning of a text that spreadsheets read as a formula: they skip invisible characters, and read full-width signs."""
_MARKUP = re.compile(r"[\\`*_\[\]|~]|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
"""What gets a backslash in Markdown; also parts of addresses, because some viewers turn addresses into links."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_COLOURS = {"error": "31", "refused": "31", "warning": "33", "deprecated": "33"}


@dataclass(frozen=True)
class Table:
    """One table of an answer.

    Attributes:
        title: the line above the table in text, and its heading in Markdown; if empty, there is none.
        columns: names, which are keys in JSON and the header in CSV.
        more: the number of rows that a limit left out.
        name: the table's key in JSON, if the answer has several tables.
        whole: titles of columns that text never shortens or leaves out, besides times and those of `text_tables`.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    more: int = 0
    name: str = ""
    whole: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        return len(self.rows) + self.more

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def first(self, limit: int) -> "Table":
        """Return the table with its first rows only; with all if the limit is 0."""
        rows = self.rows[:limit] if limit else self.rows
        return replace(self, rows=rows, more=self.total - len(rows))

    def with_column(self, name: str, values: Iterable[Any]) -> "Table":
        rows = [(*row, value) for row, value in zip(self.rows, values, strict=True)]
        return replace(self, columns=(*self.columns, name), rows=rows)

    def with_lists(self, name: str, key: Sequence[str], lists: Mapping[tuple[Any, ...], list[str]]) -> "Table":
        """Return the table with one more column: the list of each row by its values of the columns `key`, or an empty one."""
        places = [self.columns.index(column) for column in key]
        return self.with_column(name, (lists.get(tuple(row[place] for place in places), []) for row in self.rows))


def add_formats(parser: argparse.ArgumentParser, limit: int | None = None) -> None:
    """Declare --json, --csv and --markdown and, with `limit`, --limit; `limit` is the default for text."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--json", action="store_true", help="print JSON instead of text")
    kinds.add_argument(
        "--csv", action="store_true", help="print CSV; a text that begins like a formula gets a quote (')"
    )
    kinds.add_argument("--markdown", action="store_true", help="print Markdown tables")
    if limit is not None:
        shown = f"show so many rows of a table, 0 for all (text: {limit}; others: all)"
        parser.add_argument("--limit", type=_rows, metavar="N", help=shown)
        parser.set_defaults(text_limit=limit)


def _rows(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > _MOST_ROWS:
        raise argparse.ArgumentTypeError(f"{shown(text)}; give a number of rows up to {_MOST_ROWS:,}, or 0 for all")
    return int(text)


def limit_of(arguments: argparse.Namespace) -> int:
    if arguments.limit is not None:
        return int(arguments.limit)
    return int(arguments.text_limit) if is_text(arguments) else 0


def is_text(arguments: argparse.Namespace) -> bool:
    return not (arguments.json or arguments.csv or arguments.markdown)


def ask(
    tables: "Tables | Scope",
    title: str,
    statement: str,
    parameters: Mapping[str, str | int] | None = None,
    limit: int = 0,
    name: str = "",
) -> Table:
    """Answer SQL, which names tables and parameters in braces, as a table.

    With a limit other than 0, the table has only so many rows, and counts those that were left out.
    """
    rows = tables.query(f"{statement} LIMIT {limit + 1}" if limit else statement, parameters)
    answer = Table(title, rows.names, rows.rows, name=name).first(limit)
    if answer.more:
        ((total,),) = tables.query(f"SELECT count(*) AS total FROM ({statement}) AS answer", parameters)
        answer = replace(answer, more=total - limit)
    return answer


def show(
    arguments: argparse.Namespace,
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    document: Any = None,
    text: Callable[[], str] | None = None,
) -> None:
    """Print an answer in the form that the arguments ask for, which `add_formats` declares.

    `notes` are sentences below the text; JSON, CSV and Markdown leave them out. `document` is the JSON document, if it is not made
    of the tables (`as_json`), and `text` makes the text, if that is not.
    """
    if arguments.json:
        text_tables.output(as_json(tables, document))
    elif arguments.csv:
        text_tables.output(as_csv(tables, for_terminal=text_tables.is_terminal(sys.stdout)).rstrip("\n"))
    elif arguments.markdown:
        text_tables.output(as_markdown(tables))
    else:
        text_tables.output(as_text(tables, notes) if text is None else text())


def limits(arguments: argparse.Namespace, scope: "Scope") -> list[str]:
    """Return the notes of `limits_of_logs`; none, and no query, for the forms of output that leave out notes."""
    return limits_of_logs(scope) if is_text(arguments) else []


def as_json(tables: Sequence[Table], document: Any = None) -> str:
    """Return JSON in ASCII; times are ISO 8601 in UTC, bytes are base64.

    Without a document, the JSON is an array of rows for one table, and an object of such arrays for several.
    """
    if document is None:
        by_name = {table.name: table.dicts() for table in tables}
        document = by_name if len(tables) > 1 else by_name[tables[0].name]
    return json.dumps(plain(document), ensure_ascii=True)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Table):
        return plain(value.dicts())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def instant(value: datetime) -> str:
    timespec = "microseconds" if value.microsecond % 1000 else "milliseconds"
    return value.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def as_csv(tables: Sequence[Table], for_terminal: bool = False) -> str:
    """Return the tables as CSV with an empty line between them; lists and structs are JSON.

    A text that spreadsheets read as a formula gets a quote (') in front. On a terminal, control characters become U+FFFD.
    """
    texts = []
    for table in tables:
        rows = ([_csv_cell(value, for_terminal) for value in row] for row in (table.columns, *table.rows))
        texts.append("".join(",".join(cells) + "\n" for cells in rows))
    return "\n".join(texts)


def _csv_cell(value: Any, for_terminal: bool) -> str:
    """Quote a cell if it needs that. Python's csv writer does not quote a carriage return if lines end with newlines."""
    text = _one_text(value)
    text = f"'{text}" if isinstance(value, str | bytes) and _FORMULA.match(text) else text
    text = safe(text, sys.maxsize) if for_terminal else text
    return '"{}"'.format(text.replace('"', '""')) if re.search('[",\r\n]', text) else text


def _one_text(value: Any) -> str:
    """Return a value as CSV and Markdown have it: the text that JSON has, without quotes."""
    json_value = plain(value)
    if json_value is None:
        return ""
    return json_value if isinstance(json_value, str) else json.dumps(json_value, ensure_ascii=False)


def as_markdown(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        lines = [f"## {markdown_text(table.title)}\n"] if table.title else []
        lines += [_markdown_line(table.columns), _markdown_line(["---"] * len(table.columns))]
        lines += [_markdown_line(row) for row in table.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _markdown_line(row: Sequence[Any]) -> str:
    return "| {} |".format(" | ".join(map(markdown_text, row)))


def markdown_text(value: Any) -> str:
    text = safe(_one_text(value), sys.maxsize)
    return _MARKUP.sub(r"\\\g<0>", "".join(_ENTITIES.get(character, character) for character in text))


def write_private(path: Path, content: bytes, option: str, mode: int = 0o600) -> None:
    """Write a file, either whole or not at all, that only the user can read: it names principals and addresses.

    Others can read it if `mode` says so, as figures for another user's program. Errors name `option` as the one with the path.

    The content goes to a new file with a random name, which is then renamed: others cannot prepare a link at that name,
    and a link at `path` is replaced, not followed. If the file system cannot rename files, as on some mounts of buckets,
    the file is written in place.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=".kafka-clientinfo-", suffix=".part", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            os.chmod(name, mode)
            try:
                Path(name).replace(path)
            except OSError as error:
                if error.errno not in _NO_RENAME:
                    raise
                _write(path, content, mode)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ClientInfoError(
            f"{option} {path} cannot be written: {error.strerror or error}; name another file"
        ) from None


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file in place, and take from others the right to read it if it existed."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, mode)) as file:
        with suppress(OSError):  # some mounts of buckets have no modes
            os.fchmod(file.fileno(), mode)
        file.write(content)


def as_text(tables: Sequence[Table], notes: Sequence[str] = (), rest: str = _REST, blocks: bool = True) -> str:
    """Return the tables as text for the terminal's width and colours; the notes are folded.

    `rest` names the options with which the rows that a limit left out are shown. With `blocks` False, a row is always one
    line, see `text_tables`.
    """
    width, colours = text_tables.terminal_width(), _COLOURS if text_tables.has_colours() else {}
    parts, notes = [], list(notes)
    is_cut = False
    for table in tables:
        if table.rows or not table.title:
            layout = _grid(table).laid_out(width, colours, blocks)
            is_cut |= layout.is_cut
            lines = [text_tables.fold(table.title, width)] if table.title else []
            lines.append(layout.text)
            if not table.rows:
                lines.append("(no rows)")
            if table.more:
                indent = "  " if table.title else ""
                others = counted(table.more, "more row")
                more = text_tables.fold(f"{indent}… and {others}; {rest} have all", width)
                lines += ["", more] if layout.in_blocks else [more]
            parts.append("\n".join(lines))
    if is_cut:
        notes.append("Texts that end with … are shortened; --json and --csv have them whole.")
    return "\n\n".join([*parts, *([text_tables.fold("\n".join(notes), width)] if notes else [])])


def folded(text: str, hanging: str = "  ") -> str:
    """Return sentences folded at the terminal's width; unchanged if standard output is no terminal."""
    return text_tables.fold(text, text_tables.terminal_width(), hanging)


def _without_anonymous(table: Table) -> Table:
    """Return the table without its principals if no row has one that logged in, unless they are what was asked for."""
    if "principal" not in table.columns or "principal" in table.whole:
        return table
    place = table.columns.index("principal")
    if {row[place] for row in table.rows} - {"-"} != {ANONYMOUS}:
        return table
    columns, *rows = ((*row[:place], *row[place + 1 :]) for row in (table.columns, *table.rows))
    return replace(table, columns=columns, rows=rows)


def _grid(table: Table) -> text_tables.Grid:
    table = _without_anonymous(table)
    rows = [[_shown(value, name) for value, name in zip(row, table.columns, strict=True)] for row in table.rows]
    header = [name.replace("_", " ") for name in table.columns]
    times = {title for c, title in enumerate(header) if any(isinstance(row[c], datetime) for row in table.rows)}
    return text_tables.Grid(header, rows, table.whole | times, "  " if table.title else "", table.more > 0)


def _shown(value: Any, column: str) -> object:
    """Return a value for a terminal: numbers stay numbers; times in columns `…_at` have milliseconds, others seconds."""
    if value in (None, "") and column in _IDENTITIES:
        return identity(value)
    if value in (None, []) and column in _NO_OWNER:
        return "no owner"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, datetime):
        timespec = "milliseconds" if column.endswith("_at") else "seconds"
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "-"
    return "-" if value is None else _one_text(value)
