"""The command `connection`: its tables, and what it says of ids that are not there."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import connection, text_tables
from tests.commands.fleet_on_disk import HOSTILE, use

LOST = "SELECT connection_id FROM violations WHERE rule = 'client_id_lost' ORDER BY connection_id LIMIT 1"
GROUP = "SELECT connection_id FROM connection_groups ORDER BY length(group_id) DESC, connection_id LIMIT 1"
IDS = ("10.0.0.0:1", *(f"10.0.0.1:{number}" for number in (5, 0, 0, 3, 2, 4, 1)))
USES = (
    use("cron-1", "10.0.0.1"), use("cron-2", "10.0.0.1", day=1), use("other", "10.0.0.1"),
    *(use("a", "10.0.0.1", connection_id=name) for name in IDS),
)  # fmt: skip


def test_its_parts_fit_a_hundred_columns(sample_warehouse: Path, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("--warehouse", sample_warehouse)
    (lost,), (found,) = (ask("sql", query, "--json", *where).json for query in (LOST, GROUP))
    text = ask("connection", lost["connection_id"], *where).out
    assert all(part in text for part in ("Connection 1 of 1: ", "Requests by API", "Violations", "client_id_lost"))
    monkeypatch.setattr(text_tables, "terminal_width", lambda: 100)
    text = ask("connection", found["connection_id"], "--limit", "1", *where).out
    for part in ("\nRequests by API", "\nGroups\n"):
        lines = text.partition(part)[2].partition("\n\n")[0].splitlines()
        assert any("requests" in line for line in lines)  # a table, no blocks
        assert max(map(len, lines)) <= 100
    assert "self_describing" not in text
    assert "self_describing" in ask("connection", found["connection_id"], "--csv", *where).out


def test_connections_of_a_client_come_the_newest_first(
    warehouse: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("connection", "--warehouse", warehouse)
    first, second = ask(*line, "--client", "cron-*", "--json").json
    assert (first["client_id"], second["client_id"]) == ("cron-2", "cron-1")
    assert "cron-2" in ask(*line, first["connection_id"]).out
    monkeypatch.setattr(text_tables, "terminal_width", lambda: 100)
    assert max(map(len, ask(*line, "--client", "cron-*").out.splitlines())) <= 100


def test_connections_of_one_id_are_told_apart(warehouse: Path, ask: Any) -> None:
    line = ("connection", "10.0.0.1:0", "--warehouse", warehouse)
    opened = [life["opened_at"] for life in ask(*line, "--json").json["connections"]]
    assert len(opened) == 2
    assert opened == sorted(opened)
    text = ask(*line, "--limit", "1").out
    assert "Connection 1 of 2: " in text
    assert "1 more connection has this id" in text


@pytest.mark.parametrize(
    ("offered", "is_within", "text"),
    [((0, 6), True, "v0 to v6"), ((0, 6), False, "v0 to v6, not this"), ((None, None), False, "no version"),
     ((None, None), None, None)],
)  # fmt: skip
def test_a_request_says_what_was_offered(offered: tuple[Any, Any], is_within: bool | None, text: str | None) -> None:
    first = datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    row = {
        "api_name": "FETCH", "api_version": 4, "requests": 2, "errors": 0, "header_version": None, "first_at": first,
        "advertised_min": offered[0], "advertised_max": offered[1], "within_advertised": is_within,
        "last_at": first + timedelta(minutes=2),
    }  # fmt: skip
    when = "2026-11-21 23:59:00 to 2026-11-22 00:01:00"
    assert connection._request(row) == ("FETCH v4", 2, 0, None, text, when)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["0.1:"], 2, "; ids with this text are " + ", ".join(f"'10.0.0.1:{number}'" for number in range(5)) + "\n"),
        ([HOSTILE], 2, "has no connection of"),
        (["nonesuch"], 2, "no connection of; --client lists the connections of a client"),
        (["--client", "nobody"], 1, "no connection fits --client nobody"),
        ([], 2, "--client"),
    ],
)
def test_an_unknown_id_names_five_that_are_alike(
    words: list[str], code: int, says: str, warehouse: Path, ask: Any
) -> None:
    answer = ask("connection", *words, "--warehouse", warehouse)
    assert answer.code == code
    assert says in answer.err
