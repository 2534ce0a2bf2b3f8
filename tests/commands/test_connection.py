"""The command `connection`: its tables, and what it says of ids that are not there."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import connection, text_tables
from tests.commands.fleet_on_disk import fleet, use
from tests.commands.test_answers import HOSTILE, answer, asked

BROKEN = "SELECT connection_id FROM violations WHERE rule = 'client_id_lost' ORDER BY connection_id LIMIT 1"


def test_a_connection_tells_its_life(sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = asked(capsys, sample_warehouse, BROKEN)
    code, text = answer(capsys, sample_warehouse, None, "connection", found["connection_id"])
    assert code == 0
    for part in ("Connection 1 of 1: ", "Requests by API", "Violations", "client_id_lost"):
        assert part in text
    _, text = answer(capsys, sample_warehouse, None, "connection", found["connection_id"], "--json")
    document = json.loads(text)
    (life,) = document["connections"]
    assert sum(row["requests"] for row in life["requests_by_api"]) == life["requests"]
    assert [row["first_at"] for row in life["requests_by_api"]] == sorted(
        r["first_at"] for r in life["requests_by_api"]
    )


def test_the_connections_of_a_client_are_listed_the_newest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uses = [use("cron-1", "10.0.0.1"), use("cron-2", "10.0.0.1", day=1), use("other", "10.0.0.1")]
    root = fleet(tmp_path / "w", uses)
    assert cli.main(["connection", "--client", "cron-*", "--warehouse", str(root), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["client_id"], second["client_id"]) == ("cron-2", "cron-1")
    assert cli.main(["connection", first["connection_id"], "--warehouse", str(root)]) == 0
    assert "cron-2" in capsys.readouterr().out
    monkeypatch.setattr(text_tables, "terminal_width", lambda: 100)
    assert cli.main(["connection", "--client", "cron-*", "--warehouse", str(root)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100
    assert cli.main(["connection", "--client", "nobody", "--warehouse", str(root)]) == 1
    assert "no connection fits --client nobody" in capsys.readouterr().err
    assert cli.main(["connection", "--warehouse", str(root)]) == 2
    assert "--client" in capsys.readouterr().err


def test_the_parts_of_a_connection_fit_a_hundred_columns(
    sample_warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = (
        "SELECT connection_id, group_id FROM connection_groups ORDER BY length(group_id) DESC, connection_id LIMIT 1"
    )
    (found,) = asked(capsys, sample_warehouse, query)
    monkeypatch.setattr(text_tables, "terminal_width", lambda: 100)
    _, text = answer(capsys, sample_warehouse, None, "connection", found["connection_id"], "--limit", "1")
    for part in ("\nRequests by API", "\nGroups\n"):
        lines = text.partition(part)[2].partition("\n\n")[0].splitlines()
        assert any("requests" in line for line in lines)  # a table, no blocks
        assert max(map(len, lines)) <= 100
    assert "self_describing" not in text
    assert "self_describing" in answer(capsys, sample_warehouse, None, "connection", found["connection_id"], "--csv")[1]


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


def test_connections_of_one_id_are_told_apart(sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT connection_id, count(*) AS n FROM connections GROUP BY ALL HAVING n > 1 ORDER BY n DESC, ALL"
    name, number = asked(capsys, sample_warehouse, query.replace(", ALL", ", connection_id"))[0].values()
    _, text = answer(capsys, sample_warehouse, None, "connection", name, "--json")
    opened = [(life["opened_at"], life["opened_seq"]) for life in json.loads(text)["connections"]]
    assert len(opened) == number
    assert opened == sorted(opened)
    _, text = answer(capsys, sample_warehouse, None, "connection", name, "--limit", "1")
    assert f"Connection 1 of {number}: " in text
    assert f"{number - 1} more connections have this id" in text


def test_an_id_that_is_not_there_names_some_that_are_alike(
    sample_warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = asked(capsys, sample_warehouse, BROKEN)
    part = found["connection_id"][:-1]
    assert cli.main(["connection", part, "--warehouse", str(sample_warehouse)]) == 2
    assert found["connection_id"] in capsys.readouterr().err
    assert cli.main(["connection", HOSTILE, "--warehouse", str(sample_warehouse)]) == 2
    assert "has no connection of" in capsys.readouterr().err


def test_an_id_that_is_not_there_names_five_that_are_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"10.0.0.1:{number}" for number in (5, 0, 0, 3, 2, 4, 1)]
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1", connection_id=name) for name in ("10.0.0.0:1", *ids)])
    assert cli.main(["connection", "0.1:", "--warehouse", str(root)]) == 2
    alike = ", ".join(f"'10.0.0.1:{number}'" for number in range(5))
    assert capsys.readouterr().err.endswith(f"; ids with this text are {alike}\n")
