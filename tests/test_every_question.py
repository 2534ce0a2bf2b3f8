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


CLIENT = "cluster, principal, client_id, client_software_name, client_software_version"
BREAKING = (
    f"SELECT count(*) FROM (SELECT DISTINCT {CLIENT} FROM who_breaks WHERE refused_by['{TARGET}'] IS NOT NULL) AS a"
)
SAVED = "SELECT CAST(sum(client_id_redundant_bytes) AS BIGINT) AS n FROM connections WHERE role = 'client'"
NOT_WAITING = f"SELECT CAST(sum(requests) AS BIGINT) FROM who_is_slow WHERE api_name NOT IN {WAITING}"
TOPIC_BYTES = (
    "SELECT CAST(sum(bytes) AS BIGINT) AS n FROM who_uses_topics WHERE operation IN ('produce', 'fetch') "
    "AND coalesce(topic, topic_id) IS NOT NULL"
)
Way = Callable[[Asked], Any]


def by_query(statement: str) -> Way:
    return lambda asked: asked.query(statement)


def by_view(name: str, column: str) -> Way:
    return by_command(column, "sql", f"SELECT {column} FROM {name}")


def by_command(column: str, *words: str, of: str = "", where: Callable[[Any], bool] = bool) -> Way:
    def way(asked: Asked) -> Any:
        answer = asked.command(*words)
        return summed([row for row in (answer[of] if of else answer) if where(row)], column)

    return way


def by_table(name: str, column: int) -> Way:
    return lambda asked: summed(asked.table(name), column)


BY_API = ("activity", "--by", "api")
FIGURES: dict[str, tuple[Way, ...]] = {
    # connections
    "who_connects": (by_view("who_connects", "connections"), by_command("connections", "clients"),
        by_table("software", 3)),
    # clients that would break
    "who_breaks": (by_query(BREAKING), lambda asked: asked.command("upgrade", "--target", TARGET)["clients"]["refused"],
        lambda asked: next(row[1] for row in asked.table("releases") if row[0] == TARGET)),
    # requests that broke rules
    "who_misbehaves": (by_view("who_misbehaves", "occurrences"), by_table("rules", 5),
        by_command("occurrences", "violations", "--limit", "0", of="violations")),
    # connections of unknown software
    "why_unknown": (by_view("why_unknown", "connections"),
        by_command("connections", "summary", of="software", where=lambda row: row["name"] == "unknown"),
        by_table("reasons", 2)),
    # bytes that were produced and fetched
    "who_uses_topics": (by_query(TOPIC_BYTES),
        lambda asked: sum(by_command(f"{way}_bytes", "topics")(asked) for way in ("produced", "fetched")),
        lambda asked: sum(by_table("topics", column)(asked) for column in (3, 4))),
    # those below have a view and a command, and no section of the report
    "who_is_slow": (by_query(NOT_WAITING),
        by_command("requests", *BY_API, where=lambda row: row["api_name"] not in WAITING)),
    "how_clients_negotiate": (by_view("how_clients_negotiate", "connections"),
        by_command("connections", "summary", of="outcomes")),
    "who_floods": (by_view("who_floods", "requests"), by_command("requests", *BY_API)),
    "client_processes": (by_view("client_processes", "connections"),
        by_query("SELECT CAST(sum(connections) AS BIGINT) AS n FROM client_instances")),
    "client_id_caching": (by_view("client_id_caching", "bytes_sent_again"), by_query(SAVED)),
}  # fmt: skip
NOT_ASKED = {"client_latency", "error_codes", "requests_of_connections", "what_the_log_shows", "why_rebalanced"}


@pytest.mark.parametrize("name", FIGURES)
def test_query_command_and_report_agree(name: str, asked: Asked) -> None:
    assert set(FIGURES) == set(views()) - NOT_ASKED
    figures = [way(asked) for way in FIGURES[name]]
    assert figures[0] > 0
    assert figures == [figures[0]] * len(figures)
    assert len(figures) == 2 or asked.has_section(name)
