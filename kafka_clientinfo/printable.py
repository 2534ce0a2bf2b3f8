"""Text from outside: logged values as harmless lines for terminals and as UTF-8, and arguments, which must be UTF-8."""

import re
from collections.abc import Sequence

from .errors import ConfigError

INVISIBLE = (
    ("\u034f", "\u034f"), ("\u115f", "\u1160"), ("\u17b4", "\u17b5"), ("\u180b", "\u180f"), ("\u2800", "\u2800"), ("\u3164", "\u3164"),
    ("\ufe00", "\ufe0f"), ("\uffa0", "\uffa0"), ("\U000e0100", "\U000e01ef"),
)  # fmt: skip
"""Ranges of characters that are printable by category, but invisible, or change the characters beside them: fillers,
variation selectors."""
_INVISIBLE = re.compile(f"[{''.join(f'{first}-{last}' for first, last in INVISIBLE)}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST = 4000
_NAMED = 20


def safe(value: object, width: int = _LONGEST) -> str:
    """Return a value as one line of harmless text, at most `width` characters long.

    Each character that Unicode does not call printable (controls, ANSI escapes, newlines of any kind, bidirectional and
    zero-width marks, tags, lone surrogates, blanks other than the blank), or that is invisible, becomes one U+FFFD.
    """
    text = str(value)
    text = text if len(text) <= width else text[: width - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", shown)


def encodable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a message, each in quotes, at most 20 of them; `none` if there are none."""
    return (", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")) or "none"


def few(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first names as one text, with the number of the others: `a, b and 1,200 more`."""
    return between.join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def argument(option: str, text: str) -> str:
    """Return an argument's text; raises ConfigError if it is not UTF-8, which Python passes as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{option} is {text!r}, which is not UTF-8; give it as UTF-8 text") from None
    return text
