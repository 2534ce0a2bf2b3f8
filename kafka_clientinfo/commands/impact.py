"""Reads the verdict on an upgrade or downgrade: who would break at a release, who owns it, and what the log cannot tell."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..console import safe
from ..engine import Warehouse, sized
from ..errors import WarehouseError
from ..tables.broker_releases import VERDICTS, release, releases
from .context import built_warehouse

CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
_ROW = (*CLIENT, "api_name", "api_version", "requests", "connections", "hosts", "host_list")
_TIMES = ("first_seen", "last_seen")
_WHY = ("verdict", "reason", "refused_from", "limited_by")
_MARKS = {"removed": "X", "deprecated": "!", "unknown": "?", "ok": "."}
_WORST_FIRST = ("removed", "deprecated", "unknown", "ok")
_NAMED = 50


@dataclass
class Impact:
    """What a target release means for the clients of a warehouse.

    Attributes:
        target: the release; None where all are asked for.
        breaks: whether a client would break (at the target, or at any release where there is none).
        clients: clients per worst verdict, for the target.
        rows: what is not ok at the target, one per client, API and version; the most used first.
        by_release: clients per worst verdict, for every release.
        matrix: per client that is not fine everywhere: its columns and `marks`, one character per release.
        cannot_tell: sentences about what the log, or the reference data, do not show.
    """

    target: str | None
    breaks: bool = False
    clients: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    by_release: dict[str, dict[str, int]] = field(default_factory=dict)
    matrix: list[dict[str, Any]] = field(default_factory=list)
    cannot_tell: list[str] = field(default_factory=list)


def impact(
    spark: SparkSession,
    warehouse: str,
    target: str | None,
    all_targets: bool = False,
    cluster: str | None = None,
) -> Impact:
    """Read the verdicts of a warehouse.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables.
        target: a release of the reference data, or None for all.
        all_targets: also fill `by_release` and `matrix`.
        cluster: only this cluster.

    Raises:
        ConfigError: where the reference data has no such release, or the warehouse no such cluster.
        WarehouseError: where there is no warehouse, or it has no requests by which somebody can be judged.
    """
    if target is not None:
        release(target)
    lake, waits = built_warehouse(spark, warehouse, "upgrade_impact", cluster)
    with sized(spark, 0):
        found = _of_cluster(lake.read("upgrade_impact"), cluster)
        result = Impact(target)
        if target is not None:
            _for_target(result, _at(found, F.lit(target)))
        if all_targets:
            every = F.explode(F.array(*map(F.lit, releases()))).alias("target")
            _for_all(result, _at(found.select("*", every), F.col("target")))
        counted = [result.clients] if target is not None else list(result.by_release.values())
        result.breaks = any(counts.get("removed") for counts in counted)
        result.cannot_tell = _cannot_tell(result, lake, cluster, waits)
    return result


def _at(found: DataFrame, target: Any) -> DataFrame:
    """Adds what one release makes of each use: verdict, reason, and refused_from where it takes what a later one does not."""
    refused, deprecated, undecided = (
        F.try_element_at(name, target) for name in ("refused_by", "deprecated_by", "undecided_by")
    )
    verdict = (
        F.when(refused.isNotNull(), "removed")
        .when(deprecated.isNotNull(), "deprecated")
        .when(undecided.isNotNull(), "unknown")
        .otherwise("ok")
    )
    reason = F.coalesce(refused, F.when(deprecated.isNotNull(), "refused_later"), undecided)
    return found.withColumns({"target": target, "verdict": verdict, "reason": reason, "refused_from": deprecated})


def _of_cluster(table: DataFrame, cluster: str | None) -> DataFrame:
    return table if cluster is None else table.where(F.col("cluster") == cluster)


def _rank() -> Any:
    place = F.lit(len(_WORST_FIRST))
    for number_, verdict in enumerate(_WORST_FIRST):
        place = F.when(F.col("verdict") == verdict, number_).otherwise(place)
    return place


def _counts(found: DataFrame) -> dict[str, dict[str, int]]:
    """Per target: clients by their worst verdict."""
    worst = found.groupBy("target", *CLIENT).agg(F.min(_rank()).alias("rank"))
    counts: dict[str, dict[str, int]] = {}
    for row in worst.groupBy("target", "rank").count().collect():
        counts.setdefault(row["target"], dict.fromkeys(VERDICTS, 0))[_WORST_FIRST[row["rank"]]] = row["count"]
    return counts


def _for_target(result: Impact, found: DataFrame) -> None:
    result.clients = _counts(found).get(str(result.target), dict.fromkeys(VERDICTS, 0))
    wanted = found.where(F.col("verdict") != "ok").orderBy(
        _rank(), F.desc("requests"), *CLIENT, "api_key", "api_version"
    )
    times = (F.unix_micros(name).alias(name) for name in _TIMES)
    for row in wanted.select(*_ROW, *times, *_WHY).collect():
        result.rows.append(row.asDict() | {name: _utc(row[name]) for name in _TIMES})


def _utc(micros: int) -> datetime:
    """Not left to the driver's own zone, in which Spark would hand times over."""
    return datetime.fromtimestamp(micros // 1_000_000, UTC)


def _for_all(result: Impact, found: DataFrame) -> None:
    counts = _counts(found)
    result.by_release = {name: counts.get(name, dict.fromkeys(VERDICTS, 0)) for name in releases()}
    place = {name: index for index, name in enumerate(releases())}
    worst = found.groupBy(*CLIENT, "target").agg(F.min(_rank()).alias("rank"))
    marked = worst.groupBy(*CLIENT).agg(
        F.collect_list(F.struct("target", "rank")).alias("ranks"), F.count_if(F.col("rank") == 0).alias("breaks_at")
    )
    wanted = marked.where(F.exists("ranks", lambda item: item["rank"] < len(_WORST_FIRST) - 1))
    for row in wanted.orderBy(F.desc("breaks_at"), *CLIENT).collect():
        marks = ["."] * len(place)
        for item in row["ranks"]:
            if item["target"] in place:
                marks[place[item["target"]]] = _MARKS[_WORST_FIRST[item["rank"]]]
        result.matrix.append({name: row[name] for name in CLIENT} | {"marks": "".join(marks)})


def _cannot_tell(result: Impact, lake: Warehouse, cluster: str | None, waits: bool) -> list[str]:
    usage = _of_cluster(lake.read("api_usage"), cluster)
    window = usage.agg(F.unix_micros(F.min("first_at")), F.unix_micros(F.max("last_at"))).first()
    if window is None or window[0] is None:
        raise WarehouseError(f"{lake.root} holds no requests, so that nobody can be judged; read logs that have some")
    span = f"{_utc(window[0]):%Y-%m-%d %H:%M} to {_utc(window[1]):%Y-%m-%d %H:%M} UTC"
    said = [f"The requests are from {span}; who did not come in that time is not judged."]
    if waits:
        said.append("There are newer requests that no build has seen: `kafka-clientinfo build` has them judged too.")
    said += _blind_brokers(lake, usage, cluster)
    said += [
        "The log shows the versions that a client used, not those that it knows: one that asks for versions (KIP-35) "
        "may take newer ones after an upgrade.",
        "Requests that today's brokers refuse with a closed connection are in no request log (failed_requests has those "
        "that a server.log names).",
        "Programs that share principal, client id and software are one client here: look at the hosts.",
    ]
    if result.target is not None and not release(result.target).tried:
        said.append(f"For {result.target} it is known what a broker advertises; nobody tried each version on one.")
    return said


def _blind_brokers(lake: Warehouse, usage: DataFrame, cluster: str | None) -> list[str]:
    at_info = usage.groupBy("cluster", "broker").agg(F.bool_and("info_only").alias("info")).where("info")
    answered = _of_cluster(lake.read("broker_api_versions"), cluster).select("cluster", "broker")
    silent = usage.select("cluster", "broker").distinct().join(answered, on=["cluster", "broker"], how="left_anti")
    said = []
    if names := _names(at_info):
        said.append(
            f"Brokers that log at INFO: {names}. There only requests with deprecated versions are logged: whoever is "
            "named is certain, but clients that are fine are not counted, and what a broker does not call deprecated "
            "(such as whatever a downgrade would break) does not show."
        )
    if names := _names(silent):
        said.append(
            f"Brokers without an ApiVersions answer in their log: {names}. Whether their clients could use newer "
            "versions is judged by other evidence, or not at all (limited_by unknown)."
        )
    return said


def _names(brokers: DataFrame) -> str:
    rows = brokers.select("cluster", "broker").orderBy("cluster", "broker").limit(_NAMED + 1).collect()
    names = [safe(f"{row['cluster']}/{row['broker']}", 80) for row in rows[:_NAMED]]
    return ", ".join(names) + (" …" if len(rows) > _NAMED else "")
