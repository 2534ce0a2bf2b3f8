"""Answers by owner and the comparison of days are the same from Spark as from DuckDB."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.questions import opening
from tests.commands.fleet_on_disk import HOSTILE, TARGET, fleet, use

OWNERS = """
[[owners]]
owner = "A"
hosts = ["10.1.0.0/16"]
[[owners]]
owner = "B"
groups = ["g.*"]
"""
REFUSED = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
USES = (
    use("shared", "10.1.0.1", violations=[("client_id_lost", "warning")], **REFUSED),
    use("shared", "10.2.0.1", day=1, groups=["g1"], violations=[("instance_id_zero", "error")], **REFUSED),
    use(HOSTILE, HOSTILE, "FETCH", 18, hours=26, undecided="negotiates_down"),
    use(None, "10.1.0.2", principal=None, day=1, reason_unknown="not_sent", client_software_name="unknown"),
    use("shared", "10.1.0.1", client_software_version="v2", day=1),
)
DAYS = ("diff", "--from", "2026-11-21", "--to", "2026-11-22")
QUESTIONS = (
    ("clients", "--by", "owner"),
    ("clients", "--by", "owner", "--since", "2026-11-22", "--principal", "User:*"),
    ("clients",),
    ("violations", "--by", "owner"),
    ("violations", "--rule", "client_id_lost"),
    ("summary",),
    ("upgrade", "--target", TARGET, "--by", "owner"),
    ("upgrade", "--target", TARGET, "--since", "2026-11-22"),
)


@pytest.mark.long
def test_spark_and_duckdb_answer_alike(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, owners = fleet(tmp_path / "w", USES), tmp_path / "o.toml"
    owners.write_text(OWNERS)
    commands = [[*question, "--owners", str(owners)] for question in QUESTIONS]
    commands += [[*DAYS], [*DAYS, "--target", TARGET, "--client", "*", "--cluster", "c"]]

    def answers(session: Any) -> list[tuple[Any, ...]]:
        found = []
        for command in commands:
            code = cli.main([*command, "--warehouse", str(root), "--json"], session)
            found.append((command, code, *capsys.readouterr()))
        return found

    here = answers(None)
    assert {code for _, code, *_ in here} <= {0, 3}
    monkeypatch.setattr(opening, "local_tables", lambda root: None)
    assert answers(spark) == here
