"""Each question has a documented query, a command and a place in the report; all three give the same figures."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.questions.activity import WAITING
from kafka_clientinfo.tables.views import views

TARGET = "4.0.1"


class Asked:
    """The sample's warehouse, as its three ways of asking see it."""

    def __init__(self, warehouse: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.warehouse, self._page, self._capsys = warehouse, page.read_text("utf-8"), capsys

    def command(self, *words: str) -> Any:
        code = cli.main([*words, "--warehouse", str(self.warehouse), "--json"])
        assert code in (0, 3), words
        return json.loads(self._capsys.readouterr().out)

    def query(self, statement: str) -> Any:
        """The first value of what `sql` answers."""
        [row] = self.command("sql", statement)
        return next(iter(row.values()))

    def table(self, name: str) -> list[list[Any]]:
        """Rows of a table of the report."""
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', self._page, re.DOTALL)
        assert data is not None
        return json.loads(data[1])["tables"][name]["rows"]

    def has_section(self, name: str) -> bool:
        return f'<section id="{name}"' in self._page


@pytest.fixture(scope="module")
def page(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert cli.main(["report", "--warehouse", str(sample_warehouse), "--output", str(path), "--target", TARGET]) == 0
    return path


@pytest.fixture
def asked(sample_warehouse: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    capsys.readouterr()
    return Asked(sample_warehouse, page, capsys)


def summed(rows: list[Any], column: Any) -> int:
    return sum(row[column] or 0 for row in rows)


def by_view(name: str, column: str) -> Callable[[Asked], Any]:
    return lambda asked: summed(asked.command("sql", f"SELECT {column} FROM {name}"), column)


CLIENT = "cluster, principal, client_id, client_software_name, client_software_version"
BREAKING = (
    f"SELECT count(*) FROM (SELECT DISTINCT {CLIENT} FROM who_breaks WHERE refused_by['{TARGET}'] IS NOT NULL) AS a"
)
SAVED = "SELECT CAST(sum(client_id_redundant_bytes) AS BIGINT) AS n FROM connections WHERE role = 'client'"
TOPIC_BYTES = (
    "SELECT CAST(sum(bytes) AS BIGINT) AS n FROM who_uses_topics WHERE operation IN ('produce', 'fetch') "
    "AND coalesce(topic, topic_id) IS NOT NULL"
)
FIGURES: dict[str, tuple[str, Callable[[Asked], Any], Callable[[Asked], Any], Callable[[Asked], Any]]] = {
    "who_connects": (
        "connections",
        by_view("who_connects", "connections"),
        lambda asked: summed(asked.command("clients"), "connections"),
        lambda asked: summed(asked.table("software"), 3),
    ),
    "who_breaks": (
        "clients that would break",
        lambda asked: asked.query(BREAKING),
        lambda asked: asked.command("upgrade", "--target", TARGET)["clients"]["refused"],
        lambda asked: next(row[1] for row in asked.table("releases") if row[0] == TARGET),
    ),
    "who_misbehaves": (
        "requests that broke rules",
        by_view("who_misbehaves", "occurrences"),
        lambda asked: summed(asked.command("violations", "--limit", "0")["violations"], "occurrences"),
        lambda asked: summed(asked.table("rules"), 5),
    ),
    "why_unknown": (
        "connections of unknown software",
        by_view("why_unknown", "connections"),
        lambda asked: summed(
            [r for r in asked.command("summary")["software"] if r["name"] == "unknown"], "connections"
        ),
        lambda asked: summed(asked.table("reasons"), 2),
    ),
    "who_uses_topics": (
        "bytes that were produced and fetched",
        lambda asked: asked.query(TOPIC_BYTES),
        lambda asked: sum(
            (row[name] or 0) for row in asked.command("topics") for name in ("produced_bytes", "fetched_bytes")
        ),
        lambda asked: sum((row[column] or 0) for row in asked.table("topics") for column in (3, 4)),
    ),
}
OF_TWO: dict[str, tuple[str, Callable[[Asked], Any], Callable[[Asked], Any]]] = {
    "who_is_slow": (
        "requests that do not wait for others",
        lambda asked: asked.query(
            f"SELECT CAST(sum(requests) AS BIGINT) FROM who_is_slow WHERE api_name NOT IN {WAITING}"
        ),
        lambda asked: summed(
            [row for row in asked.command("activity", "--by", "api") if row["api_name"] not in WAITING], "requests"
        ),
    ),
    "how_clients_negotiate": (
        "connections with an outcome",
        by_view("how_clients_negotiate", "connections"),
        lambda asked: summed(asked.command("summary")["outcomes"], "connections"),
    ),
    "who_floods": (
        "requests",
        by_view("who_floods", "requests"),
        lambda asked: summed(asked.command("activity", "--by", "api"), "requests"),
    ),
    "client_processes": (
        "connections of known processes",
        by_view("client_processes", "connections"),
        lambda asked: asked.query("SELECT CAST(sum(connections) AS BIGINT) AS n FROM client_instances"),
    ),
    "client_id_caching": (
        "bytes sent again",
        by_view("client_id_caching", "bytes_sent_again"),
        lambda asked: asked.query(SAVED),
    ),
}
"""Questions that have a view and a command, and no section of the report."""


def test_every_question_is_asked() -> None:
    assert {*FIGURES, *OF_TWO} == set(views()) - {
        "client_latency",
        "error_codes",
        "requests_of_connections",
        "what_the_log_shows",
        "why_rebalanced",
    }


@pytest.mark.parametrize("name", FIGURES)
def test_query_command_and_report_agree(name: str, asked: Asked) -> None:
    what, *ways = FIGURES[name]
    figures = [way(asked) for way in ways]
    assert figures[0] > 0, what
    assert figures == [figures[0]] * 3, what
    assert asked.has_section(name)


@pytest.mark.parametrize("name", OF_TWO)
def test_query_and_command_agree(name: str, asked: Asked) -> None:
    what, *ways = OF_TWO[name]
    figures = [way(asked) for way in ways]
    assert figures[0] > 0, what
    assert figures[0] == figures[1], what
