"""Excerpts of a cluster run as in the field: restarts, an upgrade, the wrong port, and an id that is used again at once."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import run as pipeline
from tests.equality import assert_same_tables
from tests.field.conftest import ALONE
from tests.scanned import OfCluster


def rows(tables: OfCluster, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tables.query(query).rows]


CONNECTIONS: dict[str, list[tuple[str, str, int]]] = {
    "killed-and-restarted": [
        ("10.78.0.2:9094-10.78.1.7:33333-0", "before_log", 8),
        ("10.78.0.2:9094-10.78.1.7:33333-0", "observed", 9),
    ],
    "same-id-within-a-second": [
        ("10.78.0.1:9092-10.78.1.5:41006-12", "observed", 1),
        ("10.78.0.1:9092-10.78.1.5:41006-12", "observed", 10),
    ],
}
"""Per excerpt: connection id, start and requests of the connections of one id."""


@pytest.mark.parametrize("name", CONNECTIONS)
def test_one_id_is_two_connections(name: str, excerpts: dict[str, OfCluster]) -> None:
    query = "SELECT connection_id, start, requests FROM {connections} ORDER BY connection_id, session_no"
    found = rows(excerpts[name], query)
    shown = {one[0] for one in CONNECTIONS[name]}
    assert [row for row in found if row[0] in shown] == CONNECTIONS[name]
    assert {row[0] for row in found if found.count(row) > 1} <= shown


def test_a_restart_shows_without_the_brokers_own_log(excerpts: dict[str, OfCluster]) -> None:
    tables = excerpts[ALONE]
    assert rows(tables, "SELECT count(*) FROM {ingested_files}") == [(1,)]
    query = "SELECT connection_id, start, requests FROM {connections} ORDER BY connection_id, session_no"
    expected = CONNECTIONS["killed-and-restarted"]
    assert [row for row in rows(tables, query) if row[0] == expected[0][0]] == expected


FINDINGS: dict[str, Counter[tuple[str, str]]] = {
    "wrong-port": Counter({("wrong_listener", "client"): 15}),
    "upgraded-under-its-client": Counter(
        {("version_refused_without_offer", "nobody"): 6, ("request_version_refused", "client"): 3}
    ),
}
"""Per excerpt: rules that refused requests break, and whom they blame."""


@pytest.mark.parametrize("name", FINDINGS)
def test_a_refusal_blames_only_who_did_it(name: str, excerpts: dict[str, OfCluster]) -> None:
    found = rows(excerpts[name], "SELECT rule, blames FROM {violations} WHERE opened_at IS NULL")
    assert Counter(found) == FINDINGS[name]


@pytest.mark.long
def test_a_server_log_that_comes_later_changes_what_was_built(
    spark: Any, unpacked: Path, settings_of_the_run: Settings, tmp_path: Path
) -> None:
    """Also the refusals, which are in no request log, and what is concluded of connections by when the broker started."""
    for name in ("killed-and-restarted", "upgraded-under-its-client"):
        logs, late, whole = (tmp_path / name / one for one in ("broker-1", "late", "whole"))
        logs.mkdir(parents=True)
        files = sorted((unpacked / name).iterdir())
        for file in files:
            if "server" not in file.name:
                shutil.copy(file, logs)
        pipeline.run(spark, [str(logs)], str(late), settings=settings_of_the_run)
        for file in files:
            shutil.copy(file, logs)
        pipeline.run(spark, [str(logs)], str(late), settings=settings_of_the_run)
        pipeline.run(spark, [str(logs)], str(whole), settings=settings_of_the_run)
        assert_same_tables(spark, late, whole)
