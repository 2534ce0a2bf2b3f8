"""The stages of a run or of maintenance, timed and logged.

At INFO the logger `kafka_clientinfo` has each stage with its seconds; at DEBUG also its beginning, and how far the reading is.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

log = logging.getLogger("kafka_clientinfo")


class Stages:
    """Measures the time of each stage of a command, in `seconds`, and logs it; `amounts` are the files, bytes, requests and rejected records that it read."""

    command = ""
    seconds: dict[str, float]
    amounts = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        self.began = datetime.now(UTC)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        say(name)
        started = time.monotonic()
        yield
        elapsed = time.monotonic() - started
        self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 3)
        log.info("%s took %.1f s", name, elapsed)


def say(text: str, is_detail: bool = False) -> None:
    log.debug("%s", text, extra={"detail" if is_detail else "stage": text})
