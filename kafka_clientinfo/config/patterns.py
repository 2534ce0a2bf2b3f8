r"""Checks of the regular expressions in a policy or a file of owners, which are matched against what clients wrote.

Java's engine, like Python's, tries one way after the other to match a text, and needs exponentially many steps if a
repetition can read the same text in two ways, as `(a+)+`, `(a|a)*` and `(a?)+` can. So a group that holds a repetition
or an alternative must not be repeated. Texts longer than `LONGEST_TEXT` are not matched at all.

Python checks a policy's patterns; Spark runs them in Java, and DuckDB in RE2. Only the syntax that all three share is
allowed, and everything else is refused:

- To Java, `[a[b]]` is a union of classes, and `a&&b` in a class an intersection.
- RE2 knows no possessive repetition, no lookaround, and no count with a leading zero.
- Flags, `\v`, word boundaries, and `^` and `$` inside a text differ.

A pattern matches whole texts, so `^` and `$` at its ends mean nothing and are removed.
"""

import re
import warnings
from dataclasses import dataclass

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
_LONGEST_PATTERN = 1000
"""The most characters of a pattern; each may deepen the stack of Java's engine."""
LONGEST_TEXT = 255
"""The most characters of a client's text that a pattern may see; a longer text matches no pattern."""


def without_ends(pattern: str) -> str:
    """Return a pattern for whole texts without the `^` and `$` around it."""
    inner = _BETWEEN.fullmatch(pattern)
    return pattern if inner is None else inner[1]


def check_pattern(pattern: str, where: str) -> None:
    """Refuse a pattern that can be too costly for texts of clients, or that Python, Java and RE2 read differently.

    Raises:
        ConfigError: it names the pattern, the file and key that hold it (`where`), and what to do.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # a later Python may read it differently; that is refused below
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{where}: {pattern!r} is no regular expression: {error}") from None
    if "(?P" in pattern:  # Python's syntax, which Java does not know
        raise ConfigError(f"{where}: {pattern!r} has a named group; use a plain one")
    if len(pattern) > _LONGEST_PATTERN:
        raise ConfigError(
            f"{where}: {pattern[:40]!r}… has {len(pattern)} characters; give several patterns of at most {_LONGEST_PATTERN}"
        )
    _check_pieces(pattern, where)


@dataclass
class _Group:
    """What a group of a pattern holds, or the whole pattern.

    Attributes:
        start: index of its parenthesis.
        times: the most repetitions of something inside, as RE2 counts them.
        is_plain: whether neither a repetition nor an alternative is inside.
    """

    start: int
    times: int = 1
    is_plain: bool = True


def _check_pieces(whole: str, where: str) -> None:
    pattern = without_ends(whole)
    at, groups = 0, [_Group(0)]
    closed: _Group | None = None  # the group that ends directly before `at`
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise _read_differently(pattern, at, where)
        inside = groups[-1]
        if piece["repetition"]:
            if closed and not closed.is_plain and _repeats(piece):
                raise _too_costly(whole, pattern[closed.start : at], where)
            most = max(int(piece["high"] or piece["low"] or 1), int(piece["low"] or 1))
            inside.times = max(inside.times, most * (closed.times if closed else 1))
            inside.is_plain = False
        closed = None
        if piece["open"]:
            groups.append(_Group(at))
        elif piece["close"]:
            closed = groups.pop()
            groups[-1].times = max(groups[-1].times, closed.times)
            groups[-1].is_plain &= closed.is_plain
        elif piece[0] == "|":
            inside.is_plain = False
        if groups[-1].times > _MOST:
            raise _read_differently(pattern, at, where)
        at = piece.end()


def _repeats(repetition: re.Match[str]) -> bool:
    """Return whether a repetition may match more than once."""
    if repetition["low"] is None:
        return not repetition[0].startswith("?")
    return repetition["more"] == "," or int(repetition["high"] or repetition["low"]) > 1


def _too_costly(pattern: str, group: str, where: str) -> ConfigError:
    return ConfigError(
        f"{where}: {pattern!r} repeats {group!r}, which holds a repetition or an alternative: a text that is made for it "
        "could hold up every run; write a class of characters in place of the group, such as [a-z-]* for (-[a-z]+)* and "
        "[ab]+ for (a|b)+, or give several patterns"
    )


def _read_differently(pattern: str, at: int, where: str) -> ConfigError:
    return ConfigError(
        f"{where}: {pattern!r} has {pattern[at : at + 8]!r} at character {at + 1}, which Python, Java and RE2 do not "
        r"read alike; write it with characters, classes such as [a-z._-], \d, \w and \s, groups (…) and (?:…), | and "
        f"the repetitions ? * + {{2,5}}, up to {_MOST} times, with a backslash before a sign that means itself"
    )
