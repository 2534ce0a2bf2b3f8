"""Finds regular expressions that cost exponential time on a text that is chosen to cause it.

Java's engine, like Python's, tries one way after the other to match a text. It needs exponentially many steps if a
repetition can read the same text in two ways, as `(a+)+`, `(a|a)*` and `(a?)+` can. A pattern is divided into its
characters, with the characters that may follow each (Glushkov's automaton). Two ways to read a text are then two
different walks over the same characters that begin and end at one character. An upper bound of a repetition is ignored.
"""

import re
import warnings
from collections.abc import Iterable
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from ..errors import ConfigError
from .patterns import check_dialect, without_ends

_ALPHABET = frozenset(map(chr, range(256)))
_OTHER = "\N{REPLACEMENT CHARACTER}"
"""Stands for all characters beyond the alphabet, as one."""
_ANY = _ALPHABET | {_OTHER}
_CLASSES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
LONGEST_TEXT = 255
"""The most characters of a client's text that a pattern may see; a longer text matches no pattern."""
_LONGEST, _DEEPEST = 1000, 5
"""The most characters of a pattern, and the most groups inside each other: each deepens the engine's stack."""
_ENDLESS = (codes.MAX_REPEAT, codes.MIN_REPEAT)


class _Part(NamedTuple):
    """The characters with which a part of a pattern can begin and end, and whether it can match nothing."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nullable: bool = True


class _Refused(Exception):
    """A pattern is refused; the text is the reason."""


def check_pattern(pattern: str, where: str) -> None:
    """Refuse a pattern that is too costly for texts of clients, or that Java and Python read differently.

    Raises:
        ConfigError: it names the pattern, the file and key that hold it (`where`), and what to do.
    """
    with warnings.catch_warnings(action="ignore"):  # a later Python may read it differently; that is refused below
        _check_cost(pattern, where)
    check_dialect(without_ends(pattern), where)


def _check_cost(pattern: str, where: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{where}: {pattern!r} is no regular expression: {error}") from None
    if "(?P" in pattern:  # Python's syntax, which Java does not know
        raise ConfigError(f"{where}: {pattern!r} has a named group; use a plain one")
    if why := why_refused(pattern):
        raise ConfigError(
            f"{where}: {pattern!r} {why}: a text that is made for it could hold up every run; write it so that each "
            "repetition begins with a character that it does not go on with, as in [a-z]+(-[a-z]+)*"
        )


def why_refused(pattern: str) -> str | None:
    """Return why a valid pattern is too costly for texts of clients; None if it is not."""
    places = _Places("|" in pattern, re.search(r"\(\?[a-zA-Z-]*i", pattern) is not None)
    try:
        places.sequence(_parser.parse(pattern), 0)
        places.check()
    except _Refused as refused:
        return str(refused)
    return None


class _Places:
    """The characters of a pattern, by number, and which of them may follow which.

    Args:
        has_branches: whether a set may be alternatives of one character each, which Python's parser turns into sets.
        either_case: whether a letter may match its other case too.
    """

    def __init__(self, has_branches: bool, either_case: bool) -> None:
        self.has_branches = has_branches
        self.either_case = either_case
        self.characters: list[frozenset[str]] = []
        self.follows: dict[int, set[int]] = {}

    def sequence(self, items: Iterable[tuple[Any, Any]], depth: int) -> _Part:
        whole = _Part()
        for code, value in items:
            part = self._part(code, value, depth)
            self._join(whole.last, part.first)
            whole = _Part(
                whole.first | part.first if whole.nullable else whole.first,
                whole.last | part.last if part.nullable else part.last,
                whole.nullable and part.nullable,
            )
        return whole

    def _part(self, code: Any, value: Any, depth: int) -> _Part:
        if depth > _DEEPEST:
            raise _Refused(f"has more than {_DEEPEST} groups inside each other")
        if code is codes.SUBPATTERN:
            return self.sequence(value[3], depth + 1)
        if code is codes.ATOMIC_GROUP:
            return self.sequence(value, depth + 1)
        if code is codes.BRANCH:
            return self._either(value[1], depth)
        if code in _ENDLESS or code is codes.POSSESSIVE_REPEAT:
            return self._repeated(value[0], value[1], value[2], depth)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            self.sequence(value[1], depth + 1)
            return _Part()
        if code is codes.AT:
            return _Part()
        if code in (codes.GROUPREF, codes.GROUPREF_EXISTS):
            raise _Refused("refers back to a group")
        if code is codes.IN and self.has_branches and value[0][0] is not codes.NEGATE and len(value) > 1:
            return self._either([[item] for item in value], depth)
        return self._character(code, value)

    def _either(self, branches: Iterable[Any], depth: int) -> _Part:
        parts = [self.sequence(branch, depth) for branch in branches]
        if sum(part.nullable for part in parts) > 1:
            raise _Refused("has alternatives of which more than one can be empty")
        first = frozenset[int]().union(*(part.first for part in parts))
        last = frozenset[int]().union(*(part.last for part in parts))
        return _Part(first, last, any(part.nullable for part in parts))

    def _repeated(self, low: int, high: int, items: Any, depth: int) -> _Part:
        part = self.sequence(items, depth)
        if high > 1:
            if part.nullable:
                raise _Refused("repeats what can be empty")
            self._join(part.last, part.first)
        return _Part(part.first, part.last, part.nullable or low == 0)

    def _join(self, last: Iterable[int], first: Iterable[int]) -> None:
        for before, after in product(last, first):
            if after in self.follows[before]:
                raise _Refused("repeats a repetition")
            self.follows[before].add(after)

    def _character(self, code: Any, value: Any) -> _Part:
        if len(self.characters) >= _LONGEST:
            raise _Refused(f"has more than {_LONGEST} characters")
        place = frozenset({len(self.characters)})
        self.follows[len(self.characters)] = set()
        self.characters.append(_characters(code, value, self.either_case))
        return _Part(place, place, False)

    def check(self) -> None:
        """Refuse two walks over the same characters from one character back to it; one check covers a whole cycle."""
        before = {
            place: {other for other, follows in self.follows.items() if place in follows} for place in self.follows
        }
        seen: set[int] = set()
        for place in self.follows:
            start = (place, place)
            if place not in seen:
                there = self._reached(start, self.follows)
                back = self._reached(start, before)
                if any(one != other for one, other in there & back):
                    raise _Refused("can repeat the same text in two ways")
                seen |= {one for one, _ in there & back}

    def _reached(self, start: tuple[int, int], steps: dict[int, set[int]]) -> set[tuple[int, int]]:
        """Return the pairs of characters that two walks over the same text reach."""
        reached: set[tuple[int, int]] = set()
        waiting = [start]
        while waiting:
            one, other = waiting.pop()
            for pair in product(steps[one], steps[other]):
                if pair not in reached and self.characters[pair[0]] & self.characters[pair[1]]:
                    reached.add(pair)
                    waiting.append(pair)
        return reached


def _characters(code: Any, value: Any, either_case: bool) -> frozenset[str]:
    """Return the characters that one item of a pattern matches."""
    if code is codes.LITERAL:
        return _range(value, value, either_case)
    if code is codes.RANGE:
        return _range(value[0], value[1], either_case)
    if code is codes.CATEGORY:
        name = str(value).removeprefix("CATEGORY_").removeprefix("NOT_")
        found = frozenset(c for c in _ANY if re.fullmatch(_CLASSES[name], c))
        # Characters on which Java and Python disagree are counted as in the class and as out of it.
        return _ANY - frozenset(c for c in found if c.isascii()) if "NOT_" in str(value) else found
    if code is codes.IN:
        negated = value[0][0] is codes.NEGATE
        found = frozenset[str]().union(*(_characters(member, item, either_case) for member, item in value[negated:]))
        return (_ANY - found) | {_OTHER} if negated else found
    return _ANY


def _range(low: int, high: int, either_case: bool) -> frozenset[str]:
    known = {chr(value) for value in range(low, min(high, len(_ALPHABET) - 1) + 1)}
    known |= {c.swapcase() for c in known} & _ANY if either_case else set()
    return frozenset(known | ({_OTHER} if high >= len(_ALPHABET) else set()))
