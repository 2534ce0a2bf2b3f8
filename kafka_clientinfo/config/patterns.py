r"""Checks that Python, Java and RE2 read a regular expression alike.

Python checks a policy's patterns; Spark runs them in Java, and DuckDB in RE2. Only the syntax that all three share is
allowed, and everything else is refused:

- To Java, `[a[b]]` is a union of classes, and `a&&b` in a class an intersection.
- RE2 knows no possessive repetition, no lookaround, and no count with a leading zero.
- Flags, `\v`, word boundaries, and `^` and `$` inside a text differ.

A pattern matches whole texts, so `^` and `$` at its ends mean nothing and are removed.
"""

import re

from ..errors import ConfigError

_ESCAPE = r"\\(?:[tnrf]|x[0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[!-/:-@\[-^`{-~])"
_SHORT = r"\\[dDwWsS]"
_MEMBER = rf"(?:{_ESCAPE}|(?!&&|\|\||~~)[^\[\]\\-])"
_COUNT = "0|[1-9][0-9]{0,3}"
_CLASS = rf"\[\^?(?!\^)-?(?:{_SHORT}|{_MEMBER}-{_MEMBER}|{_MEMBER})+-?\]|\[\^?-\]"
_REPETITION = rf"(?:[*+?]|\{{(?P<low>{_COUNT})(?P<more>,(?P<high>{_COUNT}|))?\}})\??(?![*+?{{])"
_PIECE = re.compile(
    rf"(?P<open>\((?:\?:)?(?!\?))|(?P<close>\))|(?P<repetition>{_REPETITION})|(?:{_ESCAPE}|{_SHORT}|{_CLASS}|[^\\\[(){{*+?^$])"
)
_BETWEEN = re.compile(r"\^?((?:[^\\]|\\.)*?)\$?", re.DOTALL)
_MOST = 1000
"""The most repetitions that RE2 allows, where repetitions inside each other multiply."""


def without_ends(pattern: str) -> str:
    """Return a pattern for whole texts without the `^` and `$` around it."""
    inner = _BETWEEN.fullmatch(pattern)
    return pattern if inner is None else inner[1]


def check_dialect(pattern: str, where: str) -> None:
    """Refuse a valid Python pattern that Java or RE2 reads differently.

    Raises:
        ConfigError: it names the pattern, the file and key that hold it (`where`), and what to do.
    """
    at, times, inside = 0, 1, [1]
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is not None and piece["open"]:
            inside.append(1)
        elif piece is not None and piece["repetition"]:
            times = max(int(piece["high"] or piece["low"] or 1), int(piece["low"] or 1)) * times
            inside[-1] = max(inside[-1], times)
        else:
            times = 1
        if piece is not None and piece["close"] and len(inside) > 1:
            times = inside.pop()
            inside[-1] = max(inside[-1], times)
        if piece is None or inside[-1] > _MOST:
            raise ConfigError(
                f"{where}: {pattern!r} has {pattern[at : at + 8]!r} at character {at + 1}, which Python, Java and RE2 do not "
                r"read alike; write it with characters, classes such as [a-z._-], \d, \w and \s, groups (…) and (?:…), | and "
                f"the repetitions ? * + {{2,5}}, up to {_MOST} times, with a backslash before a sign that means itself"
            )
        at = piece.end()
