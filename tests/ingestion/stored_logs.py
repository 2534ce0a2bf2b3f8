"""Logs in files and in a store in memory, and a remote file that counts what is read of it."""

import gzip
import pickle
from pathlib import Path
from typing import Any

from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.planned import Split
from kafka_clientinfo.ingestion.worker import read_splits
from tests.builders import json_record

LOG = b"".join(json_record(correlation_id=number) for number in range(20))
FILES = {
    "/logs/b1/kafka-request.log": LOG * 3,
    "/logs/b1/kafka-request.log.2026-11-21-02": json_record(client_id="two") + LOG,
    "/logs/b1/server.log": b"[2026-11-21 02:45:09,935] INFO up (kafka.server.KafkaServer)\n",
    "/logs/b 2/kafka-request.log.gz": gzip.compress(json_record(client_id="b 2") + LOG),
    "/logs/b2/ü#%20/kafka-request.log": json_record(client_id="b2") + LOG,
    "/other/notes.txt": b"x",
}


def save(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def paths(*items: str) -> list[str]:
    return [file.path for file in find_logs(items)]


def statistics(splits: tuple[tuple[Split, ...], ...]) -> list[dict[str, Any]]:
    batches = [batch for task in splits for batch in read_splits(pickle.loads(pickle.dumps(task)), "UTC")]
    return [batch.column("file").to_pylist()[0] for batch in batches if batch.column("file").null_count == 0]


class Counting:
    """A file that counts the bytes that are read of it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.read_bytes = data, 0, 0

    def read(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        self.at += len(piece)
        self.read_bytes += len(piece)
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset
        return offset

    def close(self) -> None:
        pass
