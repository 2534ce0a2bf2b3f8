"""How much of a law `make test` tries: fewer examples, and one of several cases that differ little; `make long` tries all."""

from collections.abc import Iterable
from typing import Any

import pytest

_SHARE = 4
_whole = False


def try_all(whole: bool) -> None:
    """Choose between all examples and a quarter of them, before the modules of the tests are imported."""
    global _whole
    _whole = whole


def examples(number: int, share: int = _SHARE, least: int = 10) -> int:
    """Return how many examples of a law to try, of a number for `make long`; `make test` tries a share of them."""
    return number if _whole else max(least, number // share)


def places(begin: int, end: int, step: int = 1) -> range:
    """Return the places of a text at which to try something: every third of them, for `make long` each one."""
    return range(begin, end, step if _whole else 3 * step)


def one_in(share: int, cases: Iterable[Any]) -> list[Any]:
    """Mark all but each `share`-th of the cases of a test as long; a case is one argument, or a tuple of several."""
    marks = ((), (pytest.mark.long,))
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[number % share > 0], id=_name(case))
        for number, case in enumerate(cases)
    ]


def _name(case: Any) -> str | None:
    """Return the name of a case of texts, functions and tuples of them; None for others, which pytest names."""
    if isinstance(case, tuple):
        names = [_name(part) for part in case]
        return None if None in names else "-".join(map(str, names))
    return case if isinstance(case, str) else getattr(case, "__name__", None)
