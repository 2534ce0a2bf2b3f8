"""Requests that the broker logged twice, told for a batch of rows at once, exactly as `logs.twins` tells them one by one.

Strategy. Twins are rare, so a batch is first looked through for keys that occur twice, in it or between it and what
is remembered: by a fingerprint of each key, equal for equal keys. Where no fingerprint occurs twice there is no twin,
and the last rows are what is remembered from then on. Else every row of the batch is asked for, in order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.twins import MEMORY, TwinKey, TwinMemory

_NUMBERS = ("correlation_id", *TwinKey._fields[4:])
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

Prints = npt.NDArray[np.uint64]
Columns = Mapping[str, pa.Array]


class TwinFinder:
    """Marks the twins of a file's batches, in order; the memory, the record parser's, may know earlier requests."""

    def __init__(self, memory: TwinMemory) -> None:
        self._memory = memory
        self._prints: Prints | None = None

    def flags(self, columns: Columns) -> pa.Array:
        """Whether each row of these columns, which are in the order of the records, is a twin."""
        has_key = columns["throttle_time_ms"].is_valid()
        rows = len(has_key)
        if pc.all(has_key).as_py() is False:
            columns = {name: columns[name].filter(has_key) for name in (*TwinKey._fields, "total_time_ms")}
        found = self._among(columns)
        if not any(found):
            return pa.repeat(False, rows)
        flags = np.zeros(rows, dtype=bool)
        flags[has_key.to_numpy(zero_copy_only=False)] = found
        return pa.array(flags)

    def _among(self, columns: Columns) -> list[bool]:
        """Whether each row is a twin, where all rows have a key."""
        known = self._prints
        if known is None:
            known = _prints(_columns_of(self._memory.keys()))
        prints = np.concatenate((known, _prints(columns)))
        if len(np.unique(prints)) == len(prints):
            self._memory.add_distinct(_keys({name: column[-MEMORY:] for name, column in columns.items()}))
            self._prints = prints[-MEMORY:]
            return []
        self._prints = None
        return [self._memory.is_twin(key, total) for key, total in _keys(columns)]


def _keys(columns: Columns) -> Iterator[tuple[TwinKey, float]]:
    lists = (_list(columns[name]) for name in TwinKey._fields)
    return zip(map(TwinKey._make, zip(*lists, strict=True)), _list(columns["total_time_ms"]), strict=True)


def _list(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy().tolist()
    return values


def _columns_of(keys: list[TwinKey]) -> Columns:
    """What `_prints` takes of the remembered keys."""
    texts = {"connection_id": pa.array([key.connection_id for key in keys], pa.string())}
    return texts | {name: pa.array([getattr(key, name) for key in keys], pa.float64()) for name in _NUMBERS}


def _prints(columns: Columns) -> Prints:
    connections = columns["connection_id"].dictionary_encode()
    hashes = np.array([hash(text) for text in connections.dictionary.to_pylist()], dtype=np.int64).view(np.uint64)
    prints: Prints = hashes[connections.indices.to_numpy()]
    for name in _NUMBERS:
        # all as doubles, and -0.0 as 0.0: what is equal in a key has equal bits
        numbers = columns[name].to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        prints = (prints ^ numbers.view(np.uint64)) * _MULTIPLIER
        prints ^= prints >> _SHIFT
    return prints
