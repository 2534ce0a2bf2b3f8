"""Commands that answer from the tables: the same from DuckDB as from Spark, and no text in a question is SQL."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import COMMANDS, context
from tests.commands.fleet_on_disk import fleet, use
from tests.frames import at
from tests.report.tables_on_disk import change_state, write_warehouse

HOSTILE = "'; DROP TABLE connections; --"
TWICE = "SELECT connection_id FROM connections GROUP BY connection_id ORDER BY count(*) DESC, connection_id LIMIT 1"


def answer(capsys: pytest.CaptureFixture[str], root: Path, spark: Any, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.main([*arguments, "--warehouse", str(root)], spark)
    return code, capsys.readouterr().out


def asked(capsys: pytest.CaptureFixture[str], root: Path, query: str) -> list[dict[str, Any]]:
    code, text = answer(capsys, root, None, "sql", query, "--json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(text)
    return found


def test_a_connection_without_a_name_says_what_it_probably_is(
    sample_warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (
        "SELECT * FROM probable_connections WHERE probable_basis = 'client' ORDER BY connection_id, opened_at LIMIT 1"
    )
    (found,) = asked(capsys, sample_warehouse, query)
    _, text = answer(
        capsys, sample_warehouse, None, "connection", found["connection_id"], "--cluster", found["cluster"]
    )
    for name in ("software_name", "versions_from", "versions_to", "basis", "evidence"):
        assert re.search(rf"^  probable {name.replace('_', ' ')} +{re.escape(found[f'probable_{name}'])}$", text, re.M)


def test_tables_and_views_are_listed(sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, sample_warehouse, None, "tables", "--json")
    found = json.loads(text)
    assert code == 0
    assert list(found["tables"][0]) == ["table", "rows", "files", "bytes", "comment"]
    assert list(found["views"][0]) == ["view", "answers"]
    assert "\nViews, for `kafka-clientinfo sql`\n" in answer(capsys, sample_warehouse, None, "tables")[1]
    of_requests = next(row for row in found["tables"] if row["table"] == "requests")
    assert of_requests["bytes"] > of_requests["rows"] > of_requests["files"] > 0


def test_an_answer_imports_no_spark(sample_warehouse: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('pyspark', 'delta', 'pandas'): sys.modules[name] = None\n"
        "from kafka_clientinfo import cli\n"
        "for command in (['summary'], ['sql', sys.argv[2]], ['upgrade', '--all-targets']):\n"
        "    print('code', cli.main([*command, '--warehouse', sys.argv[1]]))\n"
    )
    line = [sys.executable, "-c", program, str(sample_warehouse), TWICE]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert re.findall(r"^code (\d)$", done.stdout, re.M) == ["0", "0", "3"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("DROP TABLE connections", "begins with DROP, and can only read"),
        ("insert INTO connections VALUES (1)", "begins with INSERT, and can only read"),
        ("SELECT 1; SELECT 2", "cannot be answered"),
        ("SELECT 1) AS a; COPY (SELECT 1) TO '{root}/x'; SELECT * FROM (SELECT 1", "only one query"),
        ("SELECT * FROM nonesuch", "there is no table or view nonesuch; `kafka-clientinfo tables`"),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled by configuration"),
        (" ; ", "give one such as SELECT"),
        ("SELECT '\x1b[2J' FROM nonesuch", "nonesuch"),
        ("SELECT '\udcff'", "not UTF-8"),
    ],
)
def test_sql_only_reads(sample_warehouse: Path, capsys: pytest.CaptureFixture[str], query: str, says: str) -> None:
    before = sorted(sample_warehouse.rglob("*"))
    assert cli.main(["sql", query.replace("{root}", str(sample_warehouse)), "--warehouse", str(sample_warehouse)]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert "\x1b" not in message
    assert sorted(sample_warehouse.rglob("*")) == before


@pytest.mark.parametrize("command", [["summary"], ["clients"], ["connection", "x"], ["violations"]])
def test_an_unknown_cluster_names_the_known_ones(
    sample_warehouse: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert cli.main([*command, "--cluster", HOSTILE, "--warehouse", str(sample_warehouse)]) == 2
    assert "it has those of 'default'" in capsys.readouterr().err


def test_tables_that_are_behind_are_told(
    sample_warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(sample_warehouse, tmp_path / "w")
    change_state(root, built_until="1926-11-21T00:00:00.000000Z")
    assert "There are newer requests that no build has seen" in answer(capsys, root, None, "summary")[1]


def test_the_help_of_every_command_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert cli.main([name, "--help"]) == 0
        assert f"examples:\n  kafka-clientinfo {name} " in capsys.readouterr().out


def test_an_answer_that_is_stopped_says_that_nothing_was_changed(sample_warehouse: Path) -> None:
    endless = "SELECT sum(a.range * b.range % 7) FROM range(1000000000) a, range(1000000000) b"
    program = (
        "import os, signal, sys, threading\n"
        "from kafka_clientinfo import cli\n"
        "from kafka_clientinfo.questions import duckdb_tables\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "asked = duckdb_tables.LocalTables.query\n"
        "def query(self, *given):\n"
        "    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    return asked(self, *given)\n"
        "duckdb_tables.LocalTables.query = query\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    line = [sys.executable, "-c", program, "sql", endless, "--warehouse", str(sample_warehouse)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "kafka-clientinfo: stopped; nothing was changed\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["connection", "nonesuch"],
            "ID is 'nonesuch', which {root} has no connection of; --client lists the connections of a client",
        ),
        (
            ["diff", "--from", "2026-11-20", "--to", "2026-11-21"],
            "{root} has no connection on 2026-11-20; it has none",
        ),
        (
            ["sql", "SELECT *\nFROM nonesuch_"],
            "the query cannot be answered: there is no table or view nonesuch_; `kafka-clientinfo tables` lists them",
        ),
        (
            ["sql", "SELECT * FROM Upgrade_imapct"],
            "the query cannot be answered: there is no table or view Upgrade_imapct; did you mean upgrade_impact?",
        ),
    ],
)
def test_what_has_no_answer_is_said_in_one_line(
    command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = fleet(tmp_path / "w", [])
    assert cli.main([*command, "--warehouse", str(root)]) == (1 if command[0] == "diff" else 2)
    line = capsys.readouterr().err
    assert line.startswith(f"kafka-clientinfo: {message.format(root=root)}")
    assert "LINE" not in line
    assert "SELECT *" not in line


def test_where_no_connection_fits_the_tables_are_counted_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1")])
    assert f"\nTables in {root}\n" in answer(capsys, root, None, "summary")[1]
    code, text = answer(capsys, root, None, "summary", "--since", "2030-01-01")
    assert (code, text.startswith(f"Tables in {root}, of all clusters and times\n")) == (0, True)
    assert text.endswith(
        "\n\nNo connection fits --since 2030-01-01; the warehouse has connections from 2026-11-21 01:00 to "
        "2026-11-21 01:01 UTC.\n"
    )


NAMED = (
    "the warehouse has the principals User:ANONYMOUS, User:alice, [IAM]:[arn:aws:sts::1:assumed-role/app-2-role/i-1]"
)
MSK = "[IAM]:[arn:aws:sts::1:assumed-role/app-2-role/i-1]"
IDS = "the warehouse has the client ids a, b, c, …"
TIMES = "the warehouse has connections from 2026-11-21 01:00 to 2026-11-22 01:01 UTC"


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    uses = [use(name, "10.0.0.1", day=day) for day in range(2) for name in "abcd"]
    return fleet(
        tmp_path_factory.mktemp("two-days") / "w",
        [*uses, use("a", "10.0.0.1", principal="User:alice"), use("b", "10.0.0.1", principal=MSK, cluster="msk")],
    )


@pytest.mark.parametrize(
    ("filters", "asked_for", "instead"),
    [
        (
            ["--principal", "bob"],
            "--principal bob",
            f"principals have a type in front: User:bob, or *bob; {NAMED}",
        ),
        (["--principal", "User:bob"], "--principal User:bob", NAMED),
        (["--principal", "app-2-role"], "--principal app-2-role", f"--principal '*app-2-role*' fits some; {NAMED}"),
        (["--principal", "alice"], "--principal alice", f"--principal '*alice*' fits some; {NAMED}"),
        (["--principal", "*:bob"], "--principal *:bob", NAMED),
        (["--client", "x\x1b[2J"], "--client x\ufffd[2J", IDS),
        (["--since", "2030-01-01"], "--since 2030-01-01", TIMES),
        (["--until", "2020-01-01T02:30:00.5"], "--until 2020-01-01T02:30", TIMES),
        (
            ["--principal", "User:alice", "--cluster", "c", "--until", "2026-11-20T01:02:03Z"],
            "--until 2026-11-20T01:02:03 --cluster c --principal User:alice",
            f"the warehouse has the principals User:ANONYMOUS, User:alice; {TIMES}",
        ),
    ],
)
@pytest.mark.parametrize("command", ["clients", "upgrade", "report"])
def test_an_empty_answer_names_what_was_asked_for_and_what_is_there(
    two_days: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    filters: list[str],
    asked_for: str,
    instead: str,
) -> None:
    if command == "report" and {"--principal", "--client"} & set(filters):
        return  # it has no such filters
    root = two_days
    more = {"clients": [], "upgrade": ["--target", "4.0.1"], "report": ["--output", str(tmp_path / "page.html")]}
    code = cli.main([command, *more[command], *filters, "--warehouse", str(root)])
    out, err = capsys.readouterr()
    if command == "clients":
        assert code == 0
        assert f"(no rows)\n\nNo client fits {asked_for}; {instead}.\n" in out
        assert answer(capsys, root, None, command, *filters, "--json") == (0, "[]\n")
    else:
        assert (code, err) == (1, f"kafka-clientinfo: no client of {root} fits {asked_for}; {instead}\n")
        assert not (tmp_path / "page.html").exists()


def test_where_there_are_only_brokers_no_client_is_said_to_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1", role="broker")])
    assert "\nNo client is in the logs that were read.\n" in answer(capsys, root, None, "clients")[1]


def test_what_is_read_before_a_build_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = {"file_id": "f", "cluster": "c", "broker": "b", "path": "p"}
    root = write_warehouse(tmp_path / "w", {"ingested_files": [file]}, built_until=None)
    code, text = answer(capsys, root, None, "tables")
    assert (code, text.startswith("Tables\n")) == (0, True)
    assert "\n\nThe tables are not built: `kafka-clientinfo run`, or `build`, makes them.\n" in text
    assert cli.main(["summary", "--warehouse", str(root)]) == 1
    message = f"kafka-clientinfo: the tables of {root} are not built; run `kafka-clientinfo build` first\n"
    assert capsys.readouterr().err == message


def test_a_run_at_work_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = fleet(tmp_path / "w", [])
    monkeypatch.setattr(context, "is_at_work", lambda root: True)
    assert answer(capsys, root, None, "sql", "SELECT 1 AS n")[1].endswith("\n\nA run is at work on these tables.\n")


def test_one_cluster_that_waits_for_a_build_is_enough_for_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = {"broker": "b", "path": "p"}
    files = [
        file | {"file_id": name, "cluster": name, "ingested_at": at(seconds)} for name, seconds in (("c", 9), ("d", 10))
    ]
    root = write_warehouse(tmp_path / "w", {"ingested_files": files}, at(9))
    note = "There are newer requests that no build has seen: run `kafka-clientinfo build`."
    for cluster, ends in ([], True), (["--cluster", "c"], False), (["--cluster", "d"], True):
        assert answer(capsys, root, None, "summary", *cluster)[1].endswith(f"\n{note}\n") is ends
