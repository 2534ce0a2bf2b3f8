"""Settings: frozen, complete, and checked before anything runs.

Later sources win: conf/local.toml in the package, a file given by `--conf`, the session's spark conf
(`spark.kafka_clientinfo.NAME`), arguments.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from . import resources
from .errors import ConfigError
from .policy import Policy, load_policy

SPARK_PREFIX = "spark.kafka_clientinfo."


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run can be told.

    Attributes:
        cluster: name of the cluster whose logs these are; a column of every table.
        broker_pattern: regular expression with a group `broker`, searched in a log's absolute path; where it is
            empty or finds nothing the folder that holds the log names the broker.
        log_zone: IANA name of the zone in which the brokers write timestamps.
        log_layout: how log records are laid out: `auto` (found per file), or a layout's name; see README.
        max_idle_ms: the brokers' connections.max.idle.ms.
        coverage_gap_ms: a silence between two files of a broker that is longer means that a file is missing.
        controller_listeners: names of listeners that only brokers and controllers use.
        bucket_minutes: length of the time buckets of client_connections.
        client_policy: file with the policy for clients; conf/client_policy.toml where it is empty.
        policy: what `load_settings` read from that file.
        server_logs: whether the server.log files beside request logs are read too, for failed_requests.
        lock_wait_seconds: how long to wait for another run on the same local warehouse; 0 fails at once.
        split_bytes: bytes of plain log text that one task reads at least; few large tasks are fast.
        retention_days: `maintain` deletes requests of connections that ended so many days ago; 0 keeps them all.
        vacuum_hours: `maintain` deletes files that no table has held for so many hours.
        spark: conf of the local Spark session, used only where no session is given.
    """

    cluster: str = "default"
    broker_pattern: str = ""
    log_zone: str = "UTC"
    log_layout: str = "auto"
    max_idle_ms: int = 600_000
    coverage_gap_ms: int = 300_000
    controller_listeners: tuple[str, ...] = ("CONTROLLER",)
    bucket_minutes: int = 60
    client_policy: str = ""
    policy: Policy = field(default_factory=Policy)
    server_logs: bool = True
    lock_wait_seconds: int = 600
    split_bytes: int = 128 << 20
    retention_days: int = 0
    vacuum_hours: int = 168
    spark: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value; raises ConfigError naming what was found and what to do."""
        if not self.cluster.strip():
            raise ConfigError(f"cluster is {self.cluster!r}; give the cluster a name")
        for name in ("max_idle_ms", "coverage_gap_ms", "bucket_minutes", "split_bytes"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; give a number above 0")
        for name in ("lock_wait_seconds", "retention_days", "vacuum_hours"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; give 0 or more")
        try:
            ZoneInfo(self.log_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ConfigError(f"log_zone is {self.log_zone!r}; give an IANA name such as Europe/Berlin") from None
        self._check_pattern()

    def _check_pattern(self) -> None:
        try:
            groups = re.compile(self.broker_pattern).groupindex
        except re.error as error:
            raise ConfigError(f"broker_pattern {self.broker_pattern!r} is no regular expression: {error}") from None
        if self.broker_pattern and "broker" not in groups:
            raise ConfigError(f"broker_pattern {self.broker_pattern!r} has no group named broker; write (?P<broker>…)")

    def fingerprint(self) -> str:
        """Hash of what the derived tables depend on: two equal ones make equal tables of the same requests."""
        derived = (
            self.log_zone,
            self.max_idle_ms,
            self.coverage_gap_ms,
            self.controller_listeners,
            self.bucket_minutes,
            self.policy,
        )
        return hashlib.sha256(repr(derived).encode()).hexdigest()[:16]

    def broker_of(self, path: Path) -> str:
        """The broker that wrote the log at `path`."""
        absolute = path.absolute()
        if self.broker_pattern:
            found = re.search(self.broker_pattern, str(absolute))
            if found and found["broker"]:
                return found["broker"]
        return absolute.parent.name or "unknown"


_TYPES = {item.name: item.type for item in fields(Settings) if item.name != "policy"}


def _checked(name: str, value: Any, source: str) -> Any:
    default = getattr(Settings(), name)
    if isinstance(default, tuple):
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
    elif isinstance(default, dict):
        if isinstance(value, dict):
            return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}
    elif isinstance(default, bool):
        if isinstance(value, str) and value.lower() in ("true", "false"):
            value = value.lower() == "true"
        if isinstance(value, bool):
            return value
    elif isinstance(default, int):
        if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,18}\s*", value):
            value = int(value)
        if type(value) is int:
            return value
    elif isinstance(value, str):
        return value
    raise ConfigError(f"{source}: {name} is {value!r}; expected a value like {default!r}")


def _merge(settings: Settings, values: Mapping[str, Any], source: str) -> Settings:
    unknown = sorted(set(values) - set(_TYPES))
    if unknown:
        raise ConfigError(f"{source}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(_TYPES))}")
    checked = {name: _checked(name, value, source) for name, value in values.items()}
    if "spark" in checked:
        checked["spark"] = {**settings.spark, **checked["spark"]}
    return replace(settings, **checked)


def _read_toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from None


def load_settings(
    conf: str | Path | None = None,
    spark_conf: Mapping[str, str] | None = None,
    **arguments: Any,
) -> Settings:
    """Settings from all sources.

    Args:
        conf: a TOML file with settings, as conf/local.toml and conf/cluster.toml are.
        spark_conf: the session's conf; entries `spark.kafka_clientinfo.NAME` are used.
        arguments: single settings by name; None means not given.

    Raises:
        ConfigError: naming the source, what was found and what to do.
    """
    settings = _merge(
        Settings(),
        _read_toml((resources.conf() / "local.toml").read_text("utf-8"), "conf/local.toml"),
        "conf/local.toml",
    )
    if conf is not None:
        try:
            text = Path(conf).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the configuration {conf}: {error}") from None
        settings = _merge(settings, _read_toml(text, str(conf)), str(conf))
    named = {
        key[len(SPARK_PREFIX) :]: value for key, value in (spark_conf or {}).items() if key.startswith(SPARK_PREFIX)
    }
    settings = _merge(settings, named, "spark conf")
    settings = _merge(settings, {key: value for key, value in arguments.items() if value is not None}, "arguments")
    return replace(settings, policy=load_policy(settings.client_policy))
