"""Text for terminals: tables of plain text in which no logged value can do anything but be read."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

# Control characters (ANSI escapes, newlines), format characters (right-to-left marks) and lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def safe(value: object, width: int = 0) -> str:
    """A value as one line of harmless text; cut to `width` characters where that is above 0."""
    text = _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", str(value))
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def number(value: int) -> str:
    """1234567 as 1,234,567."""
    return f"{value:,}"


def columns(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "  ") -> str:
    """Rows under a header, in columns: numbers to the right, text to the left."""
    cells = [
        [number(c) if isinstance(c, int) and not isinstance(c, bool) else safe(c, 60) for c in row] for row in rows
    ]
    widths = [max(len(line[i]) for line in [list(header), *cells]) for i in range(len(header))]
    right = [all(isinstance(row[i], int) for row in rows) and bool(rows) for i in range(len(header))]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True))
        return (indent + "  ".join(padded)).rstrip()

    return "\n".join(line(values) for values in [list(header), *cells])


def progress(stream: TextIO | None = None) -> Callable[[str], None] | None:
    """A callback that writes the stage under way to a terminal, or None where `stream` is none."""
    out = stream or sys.stderr
    if not out.isatty():
        return None
    started = time.monotonic()

    def show(stage: str) -> None:
        out.write(f"\r\x1b[K{time.monotonic() - started:6.1f} s  {safe(stage)}")
        out.flush()

    return show
