"""The times between which the requests of a split were logged."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass
class LoggedTimes:
    """Summary of the times of a split's requests, in microseconds; a clock may be set back between them.

    Attributes:
        first: time of the first request.
        earliest: the least time.
        latest: the greatest time.
        step_back: the most by which a request's time lies below that of an earlier one.
    """

    first: int | None = None
    earliest: int | None = None
    latest: int | None = None
    step_back: int = 0

    def note(self, logged_at: pa.Array) -> None:
        """Add the times of further requests, one at least, in their order."""
        times = logged_at.cast(pa.int64())
        earliest, first = pc.min(times).as_py(), times[0].as_py()
        self.first = first if self.first is None else self.first
        self.earliest = earliest if self.earliest is None else min(self.earliest, earliest)
        so_far = pc.cumulative_max(times, start=first if self.latest is None else self.latest)
        self.latest = so_far[-1].as_py()
        self.step_back = max(self.step_back, pc.max(pc.subtract(so_far, times)).as_py())
