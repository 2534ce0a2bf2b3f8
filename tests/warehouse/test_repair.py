"""What a run mends as it opens a warehouse, in which order, and what it refuses, without a session."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import repair
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.state import State

from .delta_logs import ADD, TABLE, commit, named, save
from .tiny import AT, SPECS

BUILT = State(built_until=AT, built_with="1")


class Tables:
    """A warehouse with some tables, and what was done with it."""

    def __init__(self, state: State, existing: Iterable[str], root: str = "/lake") -> None:
        self.spark: Any = None
        self.state, self.existing, self.address, self.specs = state, set(existing), Address(root), SPECS
        self.done: list[Any] = []

    def exists(self, name: str) -> bool:
        return name in self.existing

    def note(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self.done.append(changes)


ANEW = {"built_until": None}
MENDED: dict[str, tuple[dict[str, int], set[str], dict[str, Any], list[Any]]] = {
    "nothing is missing": ({"facts": 3, "sums": 0}, {"facts", "sums"}, {}, []),
    "an empty table is missing": ({"facts": 0, "sums": 2}, {"sums"}, {}, [ANEW]),
    "one with rows is missing": ({"facts": 3, "sums": 0}, {"sums"}, {}, [ANEW]),
    "one that no release of ours knows": ({"other": 3, "facts": 0}, {"facts"}, {}, []),
    "none that retention has taken from is missing": (
        {"facts": 3, "sums": 0}, {"facts"}, {"retained_from": AT}, [ANEW]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_a_missing_table_is_built_again(name: str) -> None:
    rows, existing, changes, done = MENDED[name]
    tables = Tables(replace(BUILT, rows=rows, **changes), existing)
    repair.mend(tables)
    assert tables.done == done


GONE = ", some of requests that retention has deleted"
ANOTHER = "restore it, or build a new warehouse"
LOST: list[tuple[str, int, bool, str | None]] = [
    ("events", 1234567, False, f"/lake/events is missing, and held 1,234,567 rows; {ANOTHER}"),
    ("events", 3, True, "/lake/events is missing, and held 3 rows; restore it"),
    ("events", 0, False, None),
    ("facts", 3, False, None),
    ("sums", 3, False, None),
    ("facts", 3, True, f"/lake/facts is missing, and held 3 rows{GONE}; {ANOTHER}"),
    ("sums", 0, True, None),
    ("another", 3, True, None),
]


@pytest.mark.parametrize(("name", "number", "is_retained", "says"), LOST)
def test_rows_that_nothing_brings_back_are_not_passed_over(
    name: str, number: int, is_retained: bool, says: str | None
) -> None:
    state = replace(BUILT, retained_from=AT if is_retained else None, rows={name: number})
    repair.mend(Tables(state, [name]))
    missing = Tables(state, [])
    with pytest.raises(WarehouseError) if says else nullcontext() as refused:
        repair.mend(missing)
    assert refused is None or (str(refused.value).startswith(str(says)) and not missing.done)


FIRST, ROWS = commit(*TABLE), commit(ADD)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, None),
        ({named(0): FIRST, named(1): ROWS}, None),
        ({named(0): b""}, None),  # it is half made
        ({named(0): FIRST, named(1): b""}, "is empty"),
        ({named(0): FIRST, named(1): b"", named(2): ROWS}, "is empty.*restore it from a copy$"),
        ({named(0): b"", named(1): ROWS}, "is empty"),
    ],
)
def test_rows_that_an_empty_commit_named_are_not_passed_over(
    files: dict[str, bytes], says: str | None, tmp_path: Path
) -> None:
    """A full disk may leave it; Delta reads it as a commit without changes."""
    save(tmp_path / "sums", files)
    save(tmp_path / "other", {named(0): FIRST, named(1): b""})  # no table of ours
    named_so = pytest.raises(WarehouseError, match=rf"{tmp_path}/sums/_delta_log/\d+\.json {says}")
    with named_so if says else nullcontext():
        repair.refuse_damaged(Tables(BUILT, [], str(tmp_path)))
    repair.refuse_damaged(Tables(BUILT, [], "s3://lake"))
