"""The declarations in schemas/: complete, and fit for what is made of them, which takes them as they are."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.rules import BLAMED, SEVERITIES, rules
from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.releases.broker_releases import api_traits, features, release_numbers, releases
from kafka_clientinfo.releases.client_libraries import client_libraries
from kafka_clientinfo.tables.spec import CONNECTION_KEY, TableSpec, table_specs, view_specs
from kafka_clientinfo.tables.types import duckdb_type
from kafka_clientinfo.tables.views import definitions

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
OF_A_TABLE = {"name", "comment", "per", "write_mode", "key", "cluster_by", "statistics"}
OF_A_VIEW = {"name", "comment", "write_mode", "key", "columns_of", "only", "without"}
OF_A_PART = {"columns", "checks"}
OF_A_RULE = {"severity", "blames", "what", "asks", "advice"}
NEEDS = {None, "kraft", "zookeeper", "plugin", "feature"}


def toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def test_a_file_declares_a_table_or_a_part_of_one() -> None:
    """One file of a folder names the table."""
    declared = {path: toml(path) for path in sorted((SCHEMAS / "tables").rglob("*.toml"))}
    for path, data in declared.items():
        assert set(data) <= (OF_A_TABLE | OF_A_PART if "name" in data else OF_A_PART), path
        assert "name" in data or path.parent.name != "tables", path
        assert "name" not in data or (
            ("per" in data) != ("write_mode" in data) and data.get("per", "connection") == "connection"
        ), path
    folders = {path.parent for path in declared} - {SCHEMAS / "tables"}
    named = Counter(path.parent for path, data in declared.items() if "name" in data)
    assert {folder: named[folder] for folder in folders} == dict.fromkeys(folders, 1)


@pytest.mark.parametrize("spec", table_specs().values(), ids=lambda spec: spec.name)
def test_a_table_is_of_its_columns(spec: TableSpec) -> None:
    names = spec.column_names
    for chosen in (spec.key, spec.cluster_by, spec.statistics):
        assert chosen
        assert set(chosen) <= set(names)
    assert set(spec.cluster_by) <= set(spec.statistics)  # Delta clusters by columns with statistics
    assert len(spec.cluster_by) <= 4  # and by no more
    assert spec.write_mode in ("append", "file", "part", "merge", "reference", "run")
    assert spec.write_mode != "merge" or set(CONNECTION_KEY) <= set(names)
    assert spec.write_mode != "part" or "ingested_at" in spec.key
    assert (names[-1] == "run") == spec.by_run
    assert_columns(spec)


@pytest.mark.parametrize("spec", view_specs().values(), ids=lambda spec: spec.name)
def test_a_view_has_a_query_and_its_columns(spec: TableSpec) -> None:
    assert set(toml(SCHEMAS / "views" / f"{spec.name}.toml")) <= OF_A_VIEW | OF_A_PART
    assert spec.name in definitions()
    assert spec.write_mode == "view"
    assert set(spec.key) <= set(spec.column_names)
    assert_columns(spec)


def assert_columns(spec: TableSpec) -> None:
    """Comments and known types; a name stands once."""
    assert len(set(spec.column_names)) == len(spec.columns)
    for column in spec.columns:
        assert len(column.comment) > 3, column.name
        assert duckdb_type(column.type)


def test_every_rule_says_what_it_asks_and_what_to_do() -> None:
    declared = [
        (name, rule) for path in sorted((SCHEMAS / "rules").glob("*.toml")) for name, rule in toml(path).items()
    ]
    assert len(declared) == len(rules()) >= 10  # none is declared twice
    for name, rule in declared:
        assert set(rule) - {"kip", "blames_as_information", "of_one_record"} == OF_A_RULE, name
        assert rule["severity"] in SEVERITIES, name
        assert rule["blames"] in BLAMED, name
        assert all(rule[one] for one in ("what", "asks", "advice")), name
        assert rule.get("kip", "KIP-").startswith("KIP-"), name


RELEASES = json.loads((SCHEMAS / "broker_api_ranges" / "releases.json").read_text("utf-8"))


def test_each_release_stands_once_the_oldest_first() -> None:
    names = [data["release"] for data in RELEASES]
    assert names == sorted(set(names), key=release_numbers)


@pytest.mark.parametrize("data", RELEASES, ids=lambda data: data["release"])
def test_a_release_has_a_range_of_each_api(data: dict[str, Any]) -> None:
    assert isinstance(data["tried"], bool)
    assert all(0 <= api["min"] <= api["max"] and api.get("needs") in NEEDS for api in data["apis"])
    assert all(one["min"] <= one["max"] and one["because"] in NEEDS - {None} | {"version"} for one in data["refused"])


def test_features_and_traits_are_of_known_apis() -> None:
    declared = toml(SCHEMAS / "broker_api_ranges" / "features.toml")
    assert all(api_key(name) is not None for feature in declared.values() for name in feature["needs"])
    assert {name: len(one.needs) for name, one in features().items()} == {
        n: len(f["needs"]) for n, f in declared.items()
    }
    assert api_traits().always_answered == {18}


def test_client_libraries_are_whole() -> None:
    declared = toml(SCHEMAS / "client_libraries.toml")["libraries"]
    assert len({library.name for library in client_libraries()}) == len(declared) >= 8
    for library in declared:
        re.compile(library.get("client_ids", ""))
        assert library["package"]
        for one in library["releases"]:
            where = (library["name"], one["release"])
            assert re.fullmatch(r"[0-9]+(\.[0-9]+)*", one["release"]), where
            assert set(one["worked_with"] + one["failed_with"]) <= set(releases()), where
            assert all(api_key(name) is not None and 0 <= low <= high for name, (low, high) in one["speaks"].items())
    for releases_of in (library.releases for library in client_libraries()):
        assert list(releases_of) == sorted(releases_of, key=lambda one: release_numbers(one.name))
