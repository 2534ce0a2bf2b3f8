"""Finds by correlation ids that a log leaves out requests, because it was sampled or filtered.

Most clients, and all of a broker's fetchers, count the requests of a connection one by one; Java's clients count over all
brokers. So a log that holds every request has many connections with steps of exactly one. Measured in blocks of real logs:

    log                                    | ones per connection, on average | connections with nearly all steps of one
    ---------------------------------------|---------------------------------|-----------------------------------------
    whole, after 12 to 50 steps            | 33 % and more                   |
    whole, after 100 steps and more        | 60 % and more                   | 24 % and more (16 % once)
    each second record, or half of them    | 30 to 58 %                      | 0 to 14 % (30 % once)
    each third, fifth, tenth record        | 0 to 37 %                       | 0 to 8 %

Steps are counted per block of a file, so that neither the cut into splits nor the growth of a file makes a difference.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BLOCK = 1 << 20
_LOOKS = (12, 20, 50, 100, 200, 500, 1000)
_MANY = 100
"""The number of steps from which on the share of connections with nearly all steps of one counts too."""
_SOME, _SEVERAL = 6, 8
"""The least number of connections with steps for a verdict, for few steps and for many."""
_FEW, _HALF = 0.25, 0.6
"""Requests are left out below these average shares of steps of one per connection, for few steps and for many."""
_LONG, _VERY_LONG = 4, 12
_LONG_ONES = 4
_PROVING = 4
"""So many connections with `_VERY_LONG` steps, all of one, show that a log is whole, whatever else it holds."""
_PROVING_FETCHERS = 2
"""The same for replicas' fetchers: if two take turns, a log with each second request holds only one of them."""
_COUNTS_OVER_ALL = "apache-kafka-java"
"""The software that counts its requests over all brokers."""
_STEP = ("connection_id", "correlation_id", "byte_offset")
_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.int64]


class Omissions:
    def __init__(self) -> None:
        self._rows: pa.Table | None = None

    def note(self, events: pa.RecordBatch) -> tuple[_Flags, _Flags]:
        """Add further requests, in order; return for each whether it shows that requests are left out, and that none are.

        Those before the split are added all at once.
        """
        columns = [
            *map(events.column, _STEP),
            pc.fill_null(pc.greater_equal(events["replica_id"], 0), False),
            pc.fill_null(pc.equal(events["client_software_name"], _COUNTS_OVER_ALL), False),
        ]
        # Requests count if they were logged at DEBUG and sent on the connection itself, which must be known.
        is_own = pc.and_(events["remote_port"].is_valid(), pc.invert(events["is_forwarded"]))
        counts = pc.and_(pc.not_equal(events["log_level"], "INFO"), is_own)
        indexes: _Numbers = np.flatnonzero(counts.to_numpy(zero_copy_only=False))
        rows = pa.Table.from_arrays(columns, names=[*_STEP, "is_fetcher", "counts_over_all"])
        rows = rows if len(indexes) == len(rows) else rows.filter(counts)
        before = 0 if self._rows is None else len(self._rows)
        whole = rows if self._rows is None else pa.concat_tables([self._rows, rows])
        left_out, none = (np.zeros(len(events), dtype=np.bool_) for _ in range(2))
        if len(whole) == 0:
            return left_out, none
        for row, shows_omission in _verdicts(whole, before):
            (left_out if shows_omission else none)[indexes[row - before]] = True
        offsets = whole["byte_offset"].to_numpy()
        last_block = int(np.searchsorted(offsets, offsets[-1] // BLOCK * BLOCK))  # it may go on
        self._rows = whole.slice(last_block)
        return left_out, none


def _verdicts(rows: pa.Table, before: int) -> list[tuple[int, bool]]:
    """Judge the steps per block; return rows from `before` on that complete evidence, and whether of omissions."""
    blocks = rows["byte_offset"].to_numpy() // BLOCK
    connections = rows["connection_id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    # Bring rows of one connection and block together, in the order of the log.
    order = np.lexsort((connections, blocks))
    differences = np.diff(rows["correlation_id"].to_numpy().astype(np.int64)[order])
    is_step = (np.diff(connections[order]) == 0) & (np.diff(blocks[order]) == 0) & (differences > 0)
    ends = order[1:][is_step]
    by_end = np.argsort(ends)
    ends, sizes = ends[by_end], differences[is_step][by_end]
    is_fetcher, over_all = (rows[name].to_numpy()[ends] for name in ("is_fetcher", "counts_over_all"))
    verdicts = []
    begins = [0, *(np.flatnonzero(np.diff(blocks[ends])) + 1).tolist()]
    for begin, end in zip(begins, [*begins[1:], len(ends)], strict=True):
        for number in _LOOKS:
            last = begin + number
            if last <= end and ends[last - 1] >= before:
                steps = np.arange(begin, last)
                if number < _MANY or is_fetcher[begin:last].any():
                    steps = steps[~over_all[begin:last]]
                verdict = _shows_omission(connections[ends[steps]], sizes[steps] == 1, is_fetcher[steps])
                verdicts += [] if verdict is None else [(int(ends[last - 1]), verdict)]
    return verdicts


def _shows_omission(connections: _Numbers, is_one: _Flags, is_fetcher: _Flags) -> bool | None:
    """Judge steps by their connections and by whether each is one and a fetcher's; return None if they show nothing."""
    of_connection = np.bincount(connections)
    ones_of = np.bincount(connections, weights=is_one)
    is_proving = (of_connection >= _VERY_LONG) & (ones_of == of_connection)
    fetchers = is_proving & (np.bincount(connections, weights=is_fetcher) > 0)
    if is_proving.sum() >= _PROVING or fetchers.sum() >= _PROVING_FETCHERS:
        return False
    # One busy client that counts over many brokers is no evidence, so each connection has the same weight.
    has_steps = of_connection > 0
    shares = ones_of[has_steps] / of_connection[has_steps]
    is_long = of_connection >= _LONG
    if len(is_one) >= _MANY and is_long.sum() >= _LONG_ONES:
        is_regular = is_long & (ones_of * 5 >= of_connection * 4)
        is_sampled = len(shares) >= _SEVERAL and shares.mean() < _HALF and is_regular.sum() * 4 < is_long.sum()
    else:
        is_sampled = len(shares) >= _SOME and shares.mean() < _FEW
    return True if is_sampled else None
