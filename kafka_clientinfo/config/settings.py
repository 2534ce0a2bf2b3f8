"""Settings: frozen, complete, and checked before anything runs.

Later sources override earlier ones: conf/local.toml in the package, a file given by `--conf`, the session's spark conf
(`spark.kafka_clientinfo.NAME`), arguments.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .. import resources
from ..errors import ConfigError
from .policy import Policy, load_policy
from .toml_files import check_names, checked_pattern, parsed, shown, text_of

SPARK_PREFIX = "spark.kafka_clientinfo."
_TEN_YEARS = 10 * 365
"""In days. Each number has a range, so that no calculation with times and sizes overflows."""
_DERIVED_BY = ("log_zone", "max_idle_ms", "coverage_gap_ms", "controller_listeners", "bucket_minutes", "policy",
               "principal_patterns")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run.

    Attributes:
        cluster: name of the cluster that wrote these logs; a column of every table.
        broker_pattern: regular expression with a group `broker`, searched in a log's absolute path; if it is empty or
            finds nothing, the path names the broker as `broker_of` says.
        log_zone: IANA name of the zone in which the brokers write timestamps.
        principal_patterns: regular expressions, each with a group that is the same on all connections of a client, for
            principals that also name a connection or a session; those of Amazon MSK's IAM and Strimzi's OAuth are known.
        max_idle_ms: the brokers' connections.max.idle.ms; a greater value that server.log states is used instead.
        coverage_gap_ms: a longer silence of a broker's log at DEBUG is a gap: the level may have been switched, or a
            file may be missing.
        controller_listeners: names of the controllers' listeners, on which a node id as client id shows a broker.
        bucket_minutes: length of the time buckets of client_connections.
        unused_topic_hours: the least time over which all logs must hold every request before a topic is called unused.
        client_policy: file with the policy for clients; if empty, conf/client_policy.toml.
        policy: the policy that `load_settings` read from that file.
        owners: file with the owners of clients, which commands that answer questions name; none if empty.
        private_raw_bytes: whether only the owner may read raw bytes of logs: the table rejected_records of a warehouse
            on this machine, and the scratch files of a local Spark session.
        server_logs: whether to read server.log files beside request logs too, for failed_requests and broker_events.
        topics: whether to count who uses which topic, for topic_usage; requests that are read without it are not counted
            later.
        lock_wait_seconds: how long to wait for another run on the same local warehouse; 0 fails at once.
        split_bytes: the least bytes of plain log text per task; few large tasks are fast.
        retention_days: `maintain` deletes requests of connections that ended so many days ago; 0 keeps them all.
        keep_connections_days: `maintain` deletes connections that ended so many days ago, and what was counted of them, if
            their requests are deleted; 0 keeps them all.
        vacuum_hours: `maintain` deletes files that no table has used for so many hours.
        stored_views: names of views that every run also stores as Delta tables, whole, for readers that run no view.
        spark: conf of the local Spark session, used only if no session is given.
    """

    cluster: str = "default"
    broker_pattern: str = ""
    log_zone: str = "UTC"
    principal_patterns: tuple[str, ...] = ()
    max_idle_ms: int = field(default=600_000, metadata={"range": (1, _TEN_YEARS * 86_400_000)})
    coverage_gap_ms: int = field(default=300_000, metadata={"range": (1, _TEN_YEARS * 86_400_000)})
    controller_listeners: tuple[str, ...] = ("CONTROLLER",)
    bucket_minutes: int = field(default=60, metadata={"range": (1, _TEN_YEARS * 1440)})
    unused_topic_hours: int = field(default=24, metadata={"range": (0, _TEN_YEARS * 24)})
    client_policy: str = ""
    policy: Policy = field(default_factory=Policy)
    owners: str = ""
    private_raw_bytes: bool = True
    server_logs: bool = True
    topics: bool = True
    lock_wait_seconds: int = field(default=600, metadata={"range": (0, _TEN_YEARS * 86_400)})
    split_bytes: int = field(default=128 << 20, metadata={"range": (1, 1 << 40)})
    retention_days: int = field(default=0, metadata={"range": (0, 100 * 365)})
    keep_connections_days: int = field(default=0, metadata={"range": (0, 100 * 365)})
    vacuum_hours: int = field(default=168, metadata={"range": (0, 100 * 365 * 24)})
    stored_views: tuple[str, ...] = ()
    spark: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("controller_listeners", "stored_views", "principal_patterns"):
            if isinstance(one := getattr(self, name), str):  # a text alone is one name, not its characters
                object.__setattr__(self, name, (one,))
        if not self.cluster.strip():
            raise ConfigError(f"cluster is {self.cluster!r}; give the cluster a name")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {shown(getattr(self, name))}; give a number from {low} to {high}")
        if self.keep_connections_days and not 0 < self.retention_days <= self.keep_connections_days:
            raise ConfigError(
                f"keep_connections_days is {self.keep_connections_days} and retention_days {self.retention_days}; give "
                "retention_days from 1 to keep_connections_days, as connections go after their requests"
            )
        try:
            ZoneInfo(self.log_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ConfigError(f"log_zone is {self.log_zone!r}; give an IANA name such as Europe/Berlin") from None
        for pattern in self.principal_patterns:
            if checked_pattern(pattern, "principal_patterns").groups < 1:
                raise ConfigError(f"principal_patterns: {pattern!r} has no group; put what stays in parentheses")
        if "broker" not in checked_pattern(self.broker_pattern, "broker_pattern").groupindex and self.broker_pattern:
            raise ConfigError(f"broker_pattern {self.broker_pattern!r} has no group named broker; write (?P<broker>…)")

    def fingerprint(self) -> str:
        """Return a hash of the settings of derived tables: with equal hashes, equal requests make equal tables."""
        derived = tuple(getattr(self, name) for name in _DERIVED_BY)
        return hashlib.sha256(repr(derived).encode()).hexdigest()[:16]

    def broker_of(self, path: Path) -> str:
        """Return the broker that wrote the log at `path`.

        `broker_pattern` finds it; else it is `Broker-N` of Amazon MSK's file names, the pod's name in the paths of
        Kubernetes' pod logs, or the name of the log's folder.
        """
        absolute = path.absolute()
        for pattern in (self.broker_pattern, *_PLATFORM_BROKERS):
            match = re.search(pattern, str(absolute)) if pattern else None
            if match and match["broker"]:
                return match["broker"]
        return absolute.parent.name or "unknown"


_PLATFORM_BROKERS = (
    r"/(?P<broker>Broker-\d{1,9})_[0-2]\d-[0-5]\d_[A-Za-z0-9]{1,64}\.log(?:\.gz)?\Z",
    r"/[a-z0-9-]{1,63}_(?P<broker>[a-z0-9.-]{1,253})_(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"/[a-z0-9-]{1,63}/\d+\.log(?:\.[^/]*)?\Z",
)
"""Paths of logs on platforms: Amazon MSK by the file's name alone, as its folders are a day or an hour and copies keep them or
not; and the kubelet, by namespace, pod, uid and container."""
_RANGES = {one.name: one.metadata["range"] for one in fields(Settings) if one.metadata}
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
_NAMES = sorted(item.name for item in fields(Settings) if item.name != "policy")


def _checked(name: str, value: Any, source: str) -> Any:
    """Return a value with the type of the setting; a text, as Spark's conf holds it, is converted."""
    default = getattr(Settings(), name)
    kind = list if isinstance(default, tuple) else type(default)
    if isinstance(value, str) and kind is list:
        value = [part.strip() for part in value.split(",") if part.strip()]
    elif isinstance(value, str) and kind is bool:
        value = {"true": True, "false": False}.get(value.lower(), value)
    elif isinstance(value, str) and kind is int and _NUMBER.fullmatch(value.strip()):
        value = int(value)
    if type(value) is not kind or (kind is list and not all(isinstance(item, str) for item in value)):
        raise ConfigError(f"{source}: {name} is {shown(value)}; expected a value like {default!r}")
    if isinstance(value, dict):
        return {key: _spark_value(key, item, source) for key, item in value.items()}
    return tuple(value) if kind is list else value


def _spark_value(key: str, value: Any, source: str) -> str:
    if isinstance(value, dict):
        raise ConfigError(
            f"{source}: spark: {key} is a table, {shown(value)}; TOML reads a key with dots as tables in tables, so put the "
            "whole key in quotes, below [spark]"
        )
    if not key.startswith("spark."):
        raise ConfigError(
            f"{source}: spark: {key!r} is no entry of Spark's conf; these begin with spark., as spark.{key} does"
        )
    if key.startswith(SPARK_PREFIX):
        raise ConfigError(
            f"{source}: spark: {key} is a setting; write it as {key.removeprefix(SPARK_PREFIX)} above [spark]"
        )
    if not isinstance(value, str | bool | int | float):
        raise ConfigError(f"{source}: spark: {key} is {shown(value)}; give a text, a number, true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _merge(settings: Settings, values: Mapping[str, Any], source: str) -> Settings:
    check_names(values, _NAMES, source, "setting")
    checked = {name: _checked(name, value, source) for name, value in values.items()}
    if "spark" in checked:
        checked["spark"] = {**settings.spark, **checked["spark"]}
    try:
        return replace(settings, **checked)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def load_settings(
    conf: str | Path | None = None, spark_conf: Mapping[str, str] | None = None, **arguments: Any
) -> Settings:
    """Load settings from all sources.

    Args:
        conf: a TOML file with settings, as conf/local.toml and conf/cluster.toml are.
        spark_conf: the session's conf; entries `spark.kafka_clientinfo.NAME` are used.
        arguments: single settings by name; None means not given.

    Raises:
        ConfigError: it names the source, what was found and what to do.
    """
    text = (resources.conf() / "local.toml").read_text("utf-8")
    settings = _merge(Settings(), parsed(text, "conf/local.toml"), "conf/local.toml")
    if conf is not None:
        settings = _merge(settings, parsed(text_of(conf, "configuration"), str(conf)), str(conf))
    named = {
        key[len(SPARK_PREFIX) :]: value for key, value in (spark_conf or {}).items() if key.startswith(SPARK_PREFIX)
    }
    settings = _merge(settings, named, "spark conf")
    settings = _merge(settings, {key: value for key, value in arguments.items() if value is not None}, "arguments")
    return replace(settings, policy=load_policy(settings.client_policy))
