"""Lays out parts of a made log, as a log that grows from one run to the next while its connections stay open."""

from pathlib import Path
from typing import BinaryIO

_LIVE = "kafka-request.log"
_BLOCK = 1 << 22


def files_in_order(folder: Path) -> list[Path]:
    """A log's files, oldest first; the live one is the last."""
    return sorted(folder.glob(f"{_LIVE}*"), key=lambda file: (file.name == _LIVE, file.name))


def size_of(folder: Path) -> int:
    """The bytes of a log."""
    return sum(file.stat().st_size for file in files_in_order(folder))


def deliver(folder: Path, into: Path, until: int) -> None:
    """Have a folder hold the first bytes of a log, up to a line's end; what is there already is not written again."""
    into.mkdir(parents=True, exist_ok=True)
    for file in files_in_order(folder):
        target, size = into / file.name, file.stat().st_size
        held = target.stat().st_size if target.exists() else 0
        with file.open("rb") as source, target.open("ab") as grown:
            _copy(source, grown, held, _line_end(file, min(until, size)))
        until -= size
        if until <= 0:
            return


def deliver_rest(folder: Path, into: Path, since: int) -> None:
    """Have a folder hold what `deliver` leaves out."""
    into.mkdir(parents=True, exist_ok=True)
    for file in files_in_order(folder):
        size = file.stat().st_size
        if since < size:
            with file.open("rb") as source, (into / file.name).open("wb") as rest:
                _copy(source, rest, _line_end(file, max(since, 0)), size)
        since -= size


def _line_end(file: Path, offset: int) -> int:
    """The end of the line that an offset is in."""
    if not 0 < offset < file.stat().st_size:
        return offset
    with file.open("rb") as source:
        source.seek(offset - 1)
        return offset - 1 + len(source.readline())


def _copy(source: BinaryIO, target: BinaryIO, begin: int, end: int) -> None:
    source.seek(begin)
    while begin < end and (block := source.read(min(_BLOCK, end - begin))):
        target.write(block)
        begin += len(block)
