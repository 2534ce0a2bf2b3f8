"""KIP-35's example of a client that wants to use a feature, and what a rolling upgrade looks like."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.releases.broker_releases import features, releases
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import assert_table, at, frame

Ranges = Mapping[int, tuple[int, int]]
B1 = {0: (0, 3), 1: (2, 3)}
B2 = {0: (1, 2), 1: (0, 3), 2: (0, 0)}
CLUSTERS: dict[str, list[Ranges]] = {
    "KIP-35": [B1, B2],
    "nothing in common": [{0: (0, 1)}, {0: (2, 3)}],
    "one of two APIs that a feature needs": [{0: (0, 7), 1: (0, 9)}],
    **{name: [{key: (r.low, r.high) for key, r in releases()[version].apis.items()} for version in versions]
        for name, versions in {"rolling": ("3.9.1", "4.0.1"), "done": ("4.0.1", "4.0.1"), "old": ("2.3.1",)}.items()},
}  # fmt: skip


def intersection(brokers: list[Ranges]) -> Ranges:
    """The versions that every broker takes, of the APIs that every broker has."""
    ends = {key: [broker[key] for broker in brokers] for key in set.intersection(*map(set, brokers))}
    common = {key: (max(low for low, _ in all_), min(high for _, high in all_)) for key, all_ in ends.items()}
    return {key: (low, high) for key, (low, high) in common.items() if low <= high}


def is_usable(needs: Mapping[int, tuple[int, int]], brokers: list[Ranges]) -> bool:
    """KIP-35: a feature is usable if all brokers take one and the same version of each request that it needs."""
    common = intersection(brokers)
    return all(
        key in common and max(low, common[key][0]) <= min(high, common[key][1]) for key, (low, high) in needs.items()
    )


def row(cluster: str, broker: int, key: int, ends: tuple[int, int], seconds: float = 9, **given: Any) -> dict[str, Any]:
    return {
        "cluster": cluster, "broker": str(broker), "listener": "PLAINTEXT", "api_key": key, "min_version": ends[0],
        "max_version": ends[1], "first_seen": at(0), "last_seen": at(seconds), "answers": 1,
    } | given  # fmt: skip


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    rows = [row(cluster, number, key, ends) for cluster, brokers in CLUSTERS.items()
            for number, ranges in enumerate(brokers) for key, ends in ranges.items()]  # fmt: skip
    rows += [
        row("done", 0, 1, (0, 17), seconds=5),  # before its upgrade
        row("done", 0, 7, (0, 3), seconds=5),  # gone since
        row("done", 0, 1, (17, 17), listener="CONTROLLER"),
        row("KIP-35", 0, 0, (0, 1)),  # in the millisecond of the answer with the higher range
    ]
    read = [
        ("done", "0", 9), ("done", "1", 1), ("done", "2", 2), ("done", "3", 0), ("rolling", "0", 1),
    ]  # 0: a server.log  # fmt: skip
    files = [{"file_id": f"{c}{b}", "cluster": c, "broker": b, "requests": requests} for c, b, requests in read]
    tables = {"broker_api_versions": rows, "ingested_files": files}
    with on(rules_session):
        given = {name: frame(rules_session, name, of_table) for name, of_table in tables.items()}
        return computed(asked(rules_session, "cluster_api_versions", **given))


@pytest.fixture(scope="module")
def found(relation: Any) -> dict[str, dict[int, Any]]:
    made: dict[str, dict[int, Any]] = {}
    for item in collected(relation):
        made.setdefault(item["cluster"], {})[item["api_key"]] = item
    return made


@pytest.mark.kip("KIP-35", 15, 21, 22, 23)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_feature_is_usable_if_every_api_allows_it(found: dict[str, dict[int, Any]], cluster: str) -> None:
    """The ranges are what all brokers take."""
    rows, usable = found[cluster], dict[str, set[bool]]()
    ranges = {key: (row["min_version"], row["max_version"]) for key, row in rows.items()}
    assert {key: ends for key, ends in ranges.items() if ends[0] is not None} == intersection(CLUSTERS[cluster])
    for feature in (one for row in rows.values() for one in row["features"]):
        usable.setdefault(feature["feature"], set()).add(feature["usable"])
    assert usable == {name: {is_usable(feature.needs, CLUSTERS[cluster])} for name, feature in features().items()}


def test_a_rolling_upgrade_shows_and_former_ranges_do_not_count(found: dict[str, dict[int, Any]]) -> None:
    """Brokers without an answer are counted; of one in `rolling` the log is gone."""
    fetch = found["rolling"][1]
    assert (fetch["same_everywhere"], fetch["lowest_min"], fetch["highest_max"]) == (False, 0, 17)
    assert found["rolling"][0]["brokers"] == 2
    assert found["done"][1]["same_everywhere"]
    assert 7 not in found["done"]
    silent = {name: {row["brokers_silent"] for row in found[name].values()} for name in ("done", "old", "rolling")}
    assert silent == {"done": {1}, "old": {0}, "rolling": {0}}


@pytest.mark.kip("KIP-35", 21)
def test_what_an_api_allows_and_what_the_feature_needs_are_kept_apart(found: dict[str, dict[int, Any]]) -> None:
    (zstd,) = [f for f in found["KIP-35"][0]["features"] if f["feature"] == "zstd_compression"]
    assert (zstd["kip"], zstd["min_version"], zstd["met"], zstd["usable"]) == ("KIP-110", 7, False, False)
    assert found["KIP-35"][22]["brokers_with_api"] == 0


@pytest.mark.kip("KIP-35", 20)
def test_the_table_of_kip_35s_example(relation: Any, rules_session: Any) -> None:
    """Of the APIs that brokers of the example advertise; what features need is tested above."""
    with on(rules_session):
        advertised = relation.where((F.col("cluster") == "KIP-35") & (F.col("brokers_with_api") > 0))
        advertised = advertised.withColumn("features", F.lit(None))
    expected = [
        {"cluster": "KIP-35", "api_key": key, "api_name": protocol.api_name(key), "same_everywhere": False, "brokers": 2,
         "brokers_with_api": brokers, "brokers_silent": 0, "as_of": at(9), "lowest_min": 0, "highest_max": highest} | common
        for key, brokers, highest, common in (
            (0, 2, 3, {"min_version": 1, "max_version": 2}), (1, 2, 3, {"min_version": 2, "max_version": 3}), (2, 1, 0, {}))
    ]  # fmt: skip
    assert_table(advertised, rules_session, "cluster_api_versions", expected)
