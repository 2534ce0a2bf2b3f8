"""Finds duplicates in whole batches, and applies the rule of `logs.duplicates` only if one is possible.

Duplicates are rare. So a batch is first searched for keys that occur twice, in the batch or between it and the recent
requests before it; equal keys have equal fingerprints. If no fingerprint occurs twice, there is no duplicate, and the
last rows are the new recent requests. Otherwise each row is compared with the recent requests, in order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.duplicates import MEMORY, DuplicateKey, RecentRequests

_NUMBERS = ("correlation_id", *DuplicateKey._fields[4:])
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

Prints = npt.NDArray[np.uint64]
Columns = Mapping[str, pa.Array]


class BatchDuplicates:
    """Marks the duplicates in a file's batches, in order; it shares the record parser's recent requests."""

    def __init__(self, recent: RecentRequests) -> None:
        self._recent = recent
        self._prints: Prints | None = None

    def flags(self, columns: Columns) -> pa.Array:
        """Return for each row of these columns, which are in the order of the records, whether it is a duplicate."""
        has_key = columns["throttle_time_ms"].is_valid()
        rows = len(has_key)
        if pc.all(has_key).as_py() is False:
            columns = {name: columns[name].filter(has_key) for name in (*DuplicateKey._fields, "total_time_ms")}
        among_keyed = self._among(columns)
        if not any(among_keyed):
            return pa.repeat(False, rows)
        flags = np.zeros(rows, dtype=bool)
        flags[has_key.to_numpy(zero_copy_only=False)] = among_keyed
        return pa.array(flags)

    def _among(self, columns: Columns) -> list[bool]:
        """Return for each row whether it is a duplicate; all rows have a key. Empty if none is."""
        recent_prints = self._prints
        if recent_prints is None:
            recent_prints = _prints(_columns_of(self._recent.keys()))
        prints = np.concatenate((recent_prints, _prints(columns)))
        if len(np.unique(prints)) == len(prints):
            self._recent.add_distinct(_keys({name: column[-MEMORY:] for name, column in columns.items()}))
            self._prints = prints[-MEMORY:]
            return []
        self._prints = None
        return [self._recent.is_duplicate(key, total) for key, total in _keys(columns)]


def _keys(columns: Columns) -> Iterator[tuple[DuplicateKey, float]]:
    lists = (_list(columns[name]) for name in DuplicateKey._fields)
    return zip(map(DuplicateKey._make, zip(*lists, strict=True)), _list(columns["total_time_ms"]), strict=True)


def _list(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy().tolist()
    return values


def _columns_of(keys: list[DuplicateKey]) -> Columns:
    """Return the remembered keys as columns for `_prints`."""
    texts = {"connection_id": pa.array([key.connection_id for key in keys], pa.string())}
    return texts | {name: pa.array([getattr(key, name) for key in keys], pa.float64()) for name in _NUMBERS}


def _prints(columns: Columns) -> Prints:
    connections = columns["connection_id"].dictionary_encode()
    hashes = np.array([hash(text) for text in connections.dictionary.to_pylist()], dtype=np.int64).view(np.uint64)
    prints: Prints = hashes[connections.indices.to_numpy()]
    for name in _NUMBERS:
        # all as doubles, and -0.0 as 0.0: equal values of a key have equal bits
        numbers = columns[name].to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        prints = (prints ^ numbers.view(np.uint64)) * _MULTIPLIER
        prints ^= prints >> _SHIFT
    return prints
