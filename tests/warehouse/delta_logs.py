"""Logs of Delta tables as files: the actions of commits, and the names of files."""

import json
from pathlib import Path
from typing import Any

SCHEMA = {"metaData": {"id": "1", "schemaString": json.dumps({"fields": [{"name": "a"}]})}}
PROTOCOL: dict[str, Any] = {"protocol": {"minReaderVersion": 1}}
PLAIN = {"commitInfo": {"operationParameters": {"clusterBy": "[]"}}}
ADD = {"add": {"path": "part-0"}}
TABLE = (PLAIN, PROTOCOL, SCHEMA)
CRC = ".00000000000000000000.json.crc"


def commit(*actions: object, cut: int = 0) -> bytes:
    whole = b"".join(json.dumps(action).encode() + b"\n" for action in actions)
    return whole[: len(whole) - cut]


def named(version: int, end: str = ".json") -> str:
    return f"{version:020}{end}"


def save(folder: Path, files: dict[str, bytes]) -> Path:
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for name, data in files.items():
        (log / name).write_bytes(data)
    return folder
