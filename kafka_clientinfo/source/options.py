"""The options of the data source: LOGS, the kind of rows, and the settings by their names."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..config.settings import Settings, load_settings
from ..errors import ConfigError
from ..ingestion.arrow_schema import KINDS
from ..ingestion.discovery import delivered_logs
from ..ingestion.storage import StoredFile

RECORDS = {table: kind for kind, table in KINDS.items() if kind != "mention"}
"""The tables with rows that may be read, and the kinds of these rows."""
_SETTINGS = ("cluster", "broker_pattern", "log_zone", "split_bytes")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_OWN = ["path", "paths", "records", "conf", "maxBytesPerTrigger", "failOnDataLoss", "numPartitions"]


@dataclass(frozen=True)
class Options:
    """The options of one reading.

    Attributes:
        logs: files, folders, globs or URIs.
        records: a name of `RECORDS`.
        max_bytes: bytes of log per batch of a stream, at most; None for no bound.
        fail_on_data_loss: whether a stream fails if bytes of a log that it had planned to read are gone.
        partitions: the number of tasks; None chooses it by the bytes.
        columns: the columns to return; None for all.
    """

    logs: tuple[str, ...]
    records: str
    settings: Settings
    max_bytes: int | None = None
    fail_on_data_loss: bool = True
    partitions: int | None = None
    columns: tuple[str, ...] | None = None

    def files(self) -> list[StoredFile]:
        """Return the files that the logs name now; none if nothing has been delivered yet.

        Raises:
            InputError: the logs name nothing, or a folder in which there are files but no log.
        """
        return delivered_logs(self.logs, self.records in ("failed_requests", "ingested_files")).files


def parse_options(given: Mapping[str, str]) -> Options:
    """Check the options of `spark.read` and `spark.readStream`, in which upper and lower case are alike.

    Raises:
        ConfigError: it names the option, what was found and what to do.
    """
    by_name = {name.lower(): value for name, value in given.items()}
    known = {name.lower(): name for name in (*_OWN, *_SETTINGS)}
    if unknown := sorted(by_name.keys() - known):
        raise ConfigError(f"there is no option {unknown[0]!r}; give some of {', '.join(sorted(known.values()))}")
    records = by_name.get("records", "requests")
    if records not in RECORDS:
        raise ConfigError(f"records is {records!r}; give one of {', '.join(RECORDS)}")
    settings = load_settings(by_name.get("conf"), None, **{name: by_name.get(name) for name in _SETTINGS})
    return Options(
        _logs(by_name),
        records,
        settings,
        _bytes(by_name.get("maxbytespertrigger")),
        _flag("failOnDataLoss", by_name.get("failondataloss", "true")),
        _number("numPartitions", by_name.get("numpartitions")),
    )


def _logs(by_name: Mapping[str, str]) -> tuple[str, ...]:
    logs = tuple(json.loads(by_name.get("paths", "[]"))) or ((by_name["path"],) if by_name.get("path") else ())
    if not logs:
        raise ConfigError("no logs are given; name files, folders or globs in load(…)")
    return logs


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    given = re.fullmatch(r"([0-9]+)([kmg]?)b?", text.strip().lower())
    if given is None or not int(given[1]):
        raise ConfigError(f"maxBytesPerTrigger is {text!r}; give a number of bytes, as 67108864 or 64m")
    return int(given[1]) * _UNITS[given[2]]


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch("[1-9][0-9]{0,8}", text.strip()):
        raise ConfigError(f"{name} is {text!r}; give a number from 1 on")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(f"{name} is {text!r}; give true or false")
    return text.lower() == "true"
