"""Runs the cases of a parametrised test as one test, which names all cases that fail.

Most cases take less time than pytest takes to begin, end and report a test of its own. `--cases=apart` keeps them apart, as
do fixtures that are made anew for each case, and cases that have marks of their own.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

FEWEST = 4
"""Cases from which on they run together."""


def together(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with one in the place of all cases of a test that share their fixtures."""
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(_group(item) or item, []).append(item)
    return [one for group in groups.values() for one in (group if len(group) < FEWEST else [_joined(group)])]


def _group(item: pytest.Item) -> tuple[object, ...] | None:
    """Return what the cases have in common that run together; None for a test that stays as it is."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec") or item.callspec.marks:
        return None
    own = _names_of_cases(item)
    fixtures = item._fixtureinfo.name2fixturedefs
    made = [one for name in item.fixturenames if name not in own for one in fixtures.get(name, ())]
    if any(one.scope == "function" for one in made):
        return None
    if {"request", "tmp_path"} & set(item._fixtureinfo.argnames):
        return None
    return item.parent, item.originalname, _of_fixtures(item, own)


def _names_of_cases(item: pytest.Function) -> set[str]:
    """Return the arguments that `parametrize` gives itself, and no fixture."""
    found: set[str] = set()
    for mark in item.iter_markers("parametrize"):
        if not mark.kwargs.get("indirect"):
            names = mark.args[0]
            found.update(name.strip() for name in (names.split(",") if isinstance(names, str) else names))
    return found


def _of_fixtures(item: pytest.Function, own: set[str]) -> tuple[str, ...]:
    return tuple(str(value) for name, value in item.callspec.params.items() if name not in own)


def _joined(group: list[Any]) -> pytest.Item:
    first: Any = group[0]
    own = _names_of_cases(first)
    cases = [(item.callspec.id, {name: item.callspec.params[name] for name in own}) for item in group]
    of_fixtures = _of_fixtures(first, own)
    joined: pytest.Item = pytest.Function.from_parent(
        first.parent,
        name=first.originalname + (f"[{'-'.join(of_fixtures)}]" if of_fixtures else ""),
        callspec=replace(first.callspec, _idlist=of_fixtures),
        callobj=_all_of(first.obj, cases),
        fixtureinfo=first._fixtureinfo,
        originalname=first.originalname,
    )
    return joined


def _all_of(test: Callable[..., None], cases: list[tuple[str, dict[str, Any]]]) -> Callable[..., None]:
    def run(**given: Any) -> None:
        __tracebackhide__ = True
        failed: list[Exception] = []
        skipped: list[pytest.skip.Exception] = []
        for name, own in cases:
            try:
                test(**given | own)
            except pytest.skip.Exception as reason:
                skipped.append(reason)
            except (Exception, pytest.fail.Exception) as error:
                failed.append(error if isinstance(error, Exception) else AssertionError(str(error)))
                failed[-1].add_note(f"in the case [{name}]")
        if len(failed) == 1:
            raise failed[0]
        if failed:
            raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases fail", failed)
        if len(skipped) == len(cases):
            raise skipped[0]

    run.__name__, run.__module__ = test.__name__, test.__module__
    run.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
    return run
