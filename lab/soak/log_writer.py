"""Brokers that write their request logs as brokers do, faster than real ones rotate.

Every record comes from the sample logs and is written once. Pieces end anywhere, in the middle of a record or of a
UTF-8 character; rotation is by rename at a record's end; some rotated files are gzipped beside the plain one and
then replace it, some are copied, and a stretch of records is held back and delivered as a file of its own.

As a process: `python -m lab.soak.log_writer FOLDER SEED SECONDS`. It writes for about SECONDS, and the rest at once
when its standard input ends; then it exits.
"""

import gzip
import os
import random
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kafka_clientinfo.logs.unwrapping import split_records

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
BROKERS = ("kafka-2.7.2", "kafka-3.9.1-node1", "kafka-3.9.1-node3")
"""Two generations of the record, one of them split over two brokers of a cluster."""
LOG = "kafka-request.log"
_PIECE = 9000
_TICK_SECONDS = 0.05


def sample_records(broker: str) -> list[bytes]:
    """The records of a broker's sample log."""
    path = next((SAMPLES / broker).glob(f"{LOG}*"))
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [record.data for record in split_records([content])]


class BrokerLog:
    """The log folder of one broker.

    Args:
        folder: made if missing.
        records: what will be written, in order.
        dice: decides everything.
        rotations: files that the log will be rotated into, about.
    """

    def __init__(self, folder: Path, records: list[bytes], dice: random.Random, rotations: int = 8) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        start = dice.randrange(len(records) // 4, len(records) // 2)
        end = start + max(1, len(records) // 12)
        self.folder, self.dice = folder, dice
        self.late, self.now = records[start:end], records[:start] + records[end:]
        self.must_rotate_at = start
        self.rotate_chance = rotations / len(self.now)
        self.total = sum(map(len, self.now))
        self.written = self.place = self.in_record = self.in_file = self.rotated = 0
        self.plain: list[Path] = []

    def advance(self, share: float) -> None:
        """Write up to a share (0 to 1) of all bytes, in pieces, with what happens to log files in between."""
        while self.written < self.total * share:
            self._append(self.dice.randint(1, _PIECE))
            if not self.in_record and self.in_file and self._is_time_to_rotate():
                self._rotate()
            elif self.dice.random() < 0.02:
                self._do_something_to_a_rotated_file()
        if share > 0.7:
            self._deliver_late()

    def finish(self) -> None:
        """Write all that is left; the last file stays the live one."""
        self.advance(1.0)
        self._deliver_late()

    def _append(self, size: int) -> None:
        """Append the next bytes, up to the next record's end at most every other time."""
        rest = self.now[self.place][self.in_record :]
        piece = rest if len(rest) <= size else rest[:size]
        with (self.folder / LOG).open("ab") as file:
            file.write(piece)
        self.written += len(piece)
        self.in_record = 0 if len(piece) == len(rest) else self.in_record + len(piece)
        if not self.in_record:
            self.place += 1
            self.in_file += 1

    def _is_time_to_rotate(self) -> bool:
        return self.place == self.must_rotate_at or self.dice.random() < self.rotate_chance

    def _rotate(self) -> None:
        self.rotated += 1
        target = self.folder / f"{LOG}.2026-11-21-{self.rotated:02d}"
        (self.folder / LOG).rename(target)
        self.plain.append(target)
        self.in_file = 0

    def _do_something_to_a_rotated_file(self) -> None:
        if not self.plain:
            return
        path = self.plain.pop(self.dice.randrange(len(self.plain)))
        if self.dice.random() < 0.7:
            self._put(path.with_name(path.name + ".gz"), gzip.compress(path.read_bytes()))
            path.unlink()
        else:
            self._put(path.with_name(path.name + ".copy"), path.read_bytes())

    def _deliver_late(self) -> None:
        if self.late:
            content = b"".join(self.late)
            is_gzip = self.dice.random() < 0.5
            name = f"{LOG}.2026-11-21-00-late" + (".gz" if is_gzip else "")
            self._put(self.folder / name, gzip.compress(content) if is_gzip else content)
            self.late = []

    def _put(self, path: Path, content: bytes) -> None:
        hidden = path.with_name(f".{path.name}.part")
        hidden.write_bytes(content)
        hidden.rename(path)


def _ticks(seconds: float) -> Iterator[float]:
    """Shares of the time, until it is over or standard input ends."""
    started = time.monotonic()
    while (share := (time.monotonic() - started) / seconds) < 1:
        if select.select([sys.stdin], [], [], _TICK_SECONDS)[0] and not os.read(sys.stdin.fileno(), 1):
            return
        yield share


def main(folder: str, seed: str, seconds: str) -> None:
    """Write all brokers' logs below `folder`."""
    dice = random.Random(int(seed))
    logs = [BrokerLog(Path(folder) / broker, sample_records(broker), dice) for broker in BROKERS]
    for share in _ticks(float(seconds)):
        for log in logs:
            log.advance(share * 0.95)
    for log in logs:
        log.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
