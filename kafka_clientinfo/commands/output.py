"""Answers as text for a terminal, JSON, CSV or Markdown: one module for every command that answers questions.

A command makes tables and hands them to `show`. Whatever a log holds is data here: text has no control characters, CSV
no formulas, Markdown no markup. Text is shortened for the terminal, and says so; the others never are.
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import console
from ..errors import ClientInfoError
from ..toml_files import shown

if TYPE_CHECKING:
    from ..engine.answers import Tables
    from ..filters import Scope

FORMATS = ("json", "csv", "markdown")
_LONGEST = 100
"""Characters of a text in a column at most, where the terminal's width does not ask for fewer."""
_NUMBER = re.compile(r"[0-9]{1,30}")
_MOST_ROWS = 1_000_000_000
"""What both engines take after LIMIT, with one more row."""
_NARROWEST = 24
"""Characters to which a narrow terminal shortens a text at most; what does not fit even so goes on in the next line."""
_WHOLE = frozenset({"connection", "connection_id", "rule", "grep", "table", "view"})
"""Columns that are never shortened: what they hold is typed into the next command."""
_REST = "--limit 0, --json and --csv"
_NO_RENAME = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM})
"""How file systems refuse to rename any file."""
_FORMULA = re.compile(
    r"[\s\0-\x1f\x7f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212\ufb29]|[\t\r\n]"
)
"""How a text begins that spreadsheets take for a formula: they pass over what shows nothing, and read full-width signs."""
_MARKUP = re.compile(r"[\\`*_\[\]|~]|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
"""What gets a backslash in Markdown; addresses too, of which some readers make links."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_COLOURS = {"error": "31", "removed": "31", "warning": "33", "deprecated": "33"}
"""Texts that get a colour on a terminal, wherever they are a whole column."""


@dataclass(frozen=True)
class Table:
    """A part of an answer.

    Attributes:
        title: the line above it in text, and its heading in Markdown; none where it is empty.
        columns: names, which are keys in JSON and the header of CSV.
        rows: values as `engine.Rows` has them.
        more: rows that a limit left out.
        name: its key in JSON, if that is made of several tables.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    more: int = 0
    name: str = ""

    @property
    def total(self) -> int:
        """Rows that there are."""
        return len(self.rows) + self.more

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def first(self, limit: int) -> "Table":
        """The first rows; all where the limit is 0."""
        rows = self.rows[:limit] if limit else self.rows
        return replace(self, rows=rows, more=self.total - len(rows))


def add_formats(parser: argparse.ArgumentParser, limit: int | None = None) -> None:
    """Declare the forms of output, and --limit where text shows only so many rows if nobody says otherwise."""
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
    """Rows of a table at most; 0 for all."""
    if arguments.limit is not None:
        return int(arguments.limit)
    return int(arguments.text_limit) if is_text(arguments) else 0


def is_text(arguments: argparse.Namespace) -> bool:
    """Whether the arguments ask for no other form than text."""
    return not any(getattr(arguments, name) for name in FORMATS)


def ask(
    tables: "Tables | Scope",
    title: str,
    statement: str,
    parameters: Mapping[str, str | int] | None = None,
    limit: int = 0,
    name: str = "",
) -> Table:
    """A table from SQL that names tables and parameters in braces; what a limit leaves out is counted, and 0 is none."""
    found = tables.query(f"{statement} LIMIT {limit + 1}" if limit else statement, parameters)
    answer = Table(title, found.names, found.rows, name=name).first(limit)
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
    """Print an answer in the form that the arguments ask for.

    Args:
        arguments: of the command, as `add_formats` has declared them.
        tables: at least one.
        notes: sentences for who reads the text; JSON, CSV and Markdown leave them out.
        document: what JSON prints; see `as_json`.
        text: makes the text, of a command that has one of its own.

    Raises:
        ClientInfoError: when standard output cannot be written.
    """
    if arguments.json:
        console.output(as_json(tables, document))
    elif arguments.csv:
        console.output(as_csv(tables, for_terminal=console.is_terminal(sys.stdout)).rstrip("\n"))
    elif arguments.markdown:
        console.output(as_markdown(tables))
    else:
        console.output(as_text(tables, notes) if text is None else text())


def as_json(tables: Sequence[Table], document: Any = None) -> str:
    """JSON of ASCII characters; times are ISO 8601 in UTC, bytes are base64.

    Without a document, it is an array of rows where there is one table, else an object with an array for each table.
    """
    if document is None:
        by_name = {table.name: table.dicts() for table in tables}
        document = by_name if len(tables) > 1 else by_name[tables[0].name]
    return json.dumps(plain(document), ensure_ascii=True)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
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
    """A time as ISO 8601 text in UTC, such as 2026-11-21T02:00:00.000Z."""
    timespec = "microseconds" if value.microsecond % 1000 else "milliseconds"
    return value.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def as_csv(tables: Sequence[Table], for_terminal: bool = False) -> str:
    """CSV, an empty line between tables; lists and structs are JSON.

    A text that spreadsheets take for a formula gets a quote (') in front: it begins with = + - @, also in their wider
    forms and after blanks or line ends, or with a tab or a line end. On a terminal, control characters become U+FFFD.
    """
    parts = []
    for table in tables:
        lines = []
        for row in [table.columns, *table.rows]:
            cells = [_csv_cell(value) for value in row]
            cells = [console.safe(cell, sys.maxsize) for cell in cells] if for_terminal else cells
            lines.append(",".join(map(_csv_quoted, cells)) + "\n")
        parts.append("".join(lines))
    return "\n".join(parts)


def _csv_quoted(cell: str) -> str:
    """Not left to Python's writer, which does not quote a carriage return where lines end with newlines."""
    return '"{}"'.format(cell.replace('"', '""')) if re.search('[",\r\n]', cell) else cell


def _csv_cell(value: Any) -> str:
    text = _one_text(value)
    return f"'{text}" if isinstance(value, str | bytes) and _FORMULA.match(text) else text


def _one_text(value: Any) -> str:
    """A value as CSV and Markdown have it: the text that JSON has, without quotes."""
    found = plain(value)
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def as_markdown(tables: Sequence[Table]) -> str:
    """Tables in Markdown, in which texts are texts: markup and HTML are escaped."""
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
    """A value as one line of Markdown without markup, HTML or links."""
    text = console.safe(_one_text(value), sys.maxsize)
    return _MARKUP.sub(r"\\\g<0>", "".join(_ENTITIES.get(character, character) for character in text))


def write_private(path: Path, content: bytes, option: str) -> None:
    """Write a file whole or not at all, for the user alone: it names principals and addresses.

    It is written under a name that nobody can guess, into a file that was not there before, so that nothing that
    others have put beside it is written through; a link in its place is replaced, not followed. Where files cannot be
    renamed, as on some mounts of buckets, it is written in place.

    Raises:
        ClientInfoError: naming the option that gave the path.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=".kafka-clientinfo-", suffix=".part", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            _put_in_place(Path(name), path, content)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ClientInfoError(
            f"{option} {path} cannot be written: {error.strerror or error}; name another file"
        ) from None


def _put_in_place(part: Path, path: Path, content: bytes) -> None:
    try:
        part.replace(path)
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        _write(path, content)


def _write(path: Path, content: bytes) -> None:
    """Write a file in place; what stands there is no longer anybody else's to read."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)) as file:
        with suppress(OSError):  # some mounts of buckets have no modes
            os.fchmod(file.fileno(), 0o600)
        file.write(content)


def as_text(tables: Sequence[Table], notes: Sequence[str] = (), rest: str = _REST) -> str:
    """Tables as wide as the terminal, with colours where it has them; `rest` names what has the rows that a limit left out."""
    width, colours = console.terminal_width(), _COLOURS if console.has_colours() else {}
    parts, notes = [], list(notes)
    is_cut = False
    for table in tables:
        if table.rows or not table.title:
            header, rows = _cells(table)
            limits = _limits(header, rows, width)
            is_cut |= any(len(str(cell)) > limit for row in rows for cell, limit in zip(row, limits, strict=True))
            indent = "  " if table.title else ""
            lines = [table.title] if table.title else []
            lines.append(console.columns(header, rows, indent, limits, colours))
            if not table.rows:
                lines.append("(no rows)")
            if table.more:
                lines.append(f"{indent}… and {console.number(table.more)} more; {rest} have all")
            parts.append("\n".join(lines))
    if is_cut:
        notes.append("Texts that end with … are shortened; --json and --csv have them whole.")
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def _cells(table: Table) -> tuple[list[str], list[list[object]]]:
    """The header and the rows of a table in text."""
    rows = [[_shown(value, name) for value, name in zip(row, table.columns, strict=True)] for row in table.rows]
    return [name.replace("_", " ") for name in table.columns], rows


def _limits(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None) -> list[int]:
    """Characters of each column at most, so that a line fits on a terminal, as far as columns can be narrower."""
    longest = [max((len(str(row[place])) for row in rows), default=0) for place in range(len(header))]
    is_whole = [title.replace(" ", "_") in _WHOLE for title in header]
    limits = [
        max(length if whole else min(length, _LONGEST), len(title))
        for length, whole, title in zip(longest, is_whole, header, strict=True)
    ]
    is_text = [not is_whole[p] and any(isinstance(row[p], str) for row in rows) for p in range(len(header))]
    excess = 0 if width is None else sum(limits) + 2 * len(limits) - width
    while excess > 0:
        widest = max((p for p in range(len(limits)) if is_text[p]), key=limits.__getitem__, default=None)
        if widest is None or limits[widest] <= max(_NARROWEST, len(header[widest])):
            break
        limits[widest] -= 1
        excess -= 1
    return limits


def _shown(value: Any, column: str) -> object:
    """A value for a terminal: numbers stay numbers; times of single events (`…_at`) have milliseconds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return value
    if isinstance(value, datetime):
        timespec = "milliseconds" if column.endswith("_at") else "seconds"
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "-"
    return "-" if value is None else _one_text(value)
