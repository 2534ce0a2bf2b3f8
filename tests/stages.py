"""Calls a function as a run begins its stages, which it logs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafka_clientinfo.warehouse.stages import log


class _Stages(logging.Handler):
    def __init__(self, call: Callable[[str], object]) -> None:
        super().__init__()
        self.call = call

    def handle(self, record: logging.LogRecord) -> bool:
        """Without the handler's lock: the function may begin another run, with threads that log too."""
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        if (stage := getattr(record, "stage", None)) is not None:
            self.call(stage)


@contextmanager
def at_stages(call: Callable[[str], object]) -> Iterator[None]:
    """Call a function with the name of each stage that begins in the block; what it raises ends the run."""
    handler, level = _Stages(call), log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
