"""Commands that answer from the tables without Spark: what they say of what is not there, and no text in a question is SQL."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import context
from tests.commands.fleet_on_disk import fleet, use
from tests.frames import at
from tests.report.tables_on_disk import write_warehouse

HOSTILE = "'; DROP TABLE connections; --"
NAMED = (
    "the warehouse has the principals User:ANONYMOUS, User:alice, [IAM]:[arn:aws:sts::1:assumed-role/app-2-role/i-1]"
)
MSK = "[IAM]:[arn:aws:sts::1:assumed-role/app-2-role/i-1]"
IDS = "the warehouse has the client ids a, b, c, …"
TIMES = "the warehouse has connections from 2026-11-21 01:00 to 2026-11-22 01:01 UTC"


USES = (
    *(use(name, "10.0.0.1", day=day) for day in range(2) for name in "abcd"),
    use("a", "10.0.0.1", principal="User:alice"), use("b", "10.0.0.1", principal=MSK, cluster="msk"),
)  # fmt: skip


def test_a_connection_without_a_name_says_what_it_probably_is(sample_warehouse: Path, ask: Any) -> None:
    query = (
        "SELECT * FROM probable_connections WHERE probable_basis = 'client' ORDER BY connection_id, opened_at LIMIT 1"
    )
    (found,) = ask("sql", query, "--json", "--warehouse", sample_warehouse).json
    where = ("--cluster", found["cluster"], "--warehouse", sample_warehouse)
    text = ask("connection", found["connection_id"], *where).out
    for name in ("software_name", "versions_from", "versions_to", "basis", "evidence"):
        assert re.search(rf"^  probable {name.replace('_', ' ')} +{re.escape(found[f'probable_{name}'])}$", text, re.M)


def test_tables_and_views_are_listed(sample_warehouse: Path, ask: Any) -> None:
    found = ask("tables", "--json", "--warehouse", sample_warehouse).json
    assert list(found["tables"][0]) == ["table", "rows", "files", "bytes", "comment"]
    assert list(found["views"][0]) == ["view", "answers"]
    assert "\nViews, for `kafka-clientinfo sql`\n" in ask("tables", "--warehouse", sample_warehouse).out
    of_requests = next(row for row in found["tables"] if row["table"] == "requests")
    assert of_requests["bytes"] > of_requests["rows"] > of_requests["files"] > 0


def test_an_answer_imports_no_spark_and_says_if_it_is_stopped(
    sample_warehouse: Path,
) -> None:
    program = (
        "import os, signal, sys, threading\n"
        "for name in ('pyspark', 'delta', 'pandas', 'pyarrow', 'numpy'): sys.modules[name] = None\n"
        "from kafka_clientinfo.questions.opening import local_tables\n"
        "assert local_tables('/nonesuch').state() is None\n"
        "del sys.modules['pyarrow'], sys.modules['numpy']\n"
        "from kafka_clientinfo import cli\n"
        "from kafka_clientinfo.questions import duckdb_tables\n"
        "for command in (['summary'], ['sql', 'SELECT 1'], ['upgrade', '--all-targets']):\n"
        "    print('code', cli.main([*command, '--warehouse', sys.argv[-1]]))\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "asked = duckdb_tables.LocalTables.query\n"
        "def query(self, *given):\n"
        "    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    return asked(self, *given)\n"
        "duckdb_tables.LocalTables.query = query\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    endless = "SELECT sum(a.range * b.range % 7) FROM range(1000000000) a, range(1000000000) b"
    line = [sys.executable, "-c", program, "sql", endless, "--warehouse", str(sample_warehouse)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert re.findall(r"^code (\d)$", done.stdout, re.M) == ["0", "0", "3"]
    assert (done.returncode, done.stderr) == (130, "kafka-clientinfo: stopped; nothing was changed\n")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("DROP TABLE connections", "begins with DROP, and can only read"),
        ("insert INTO connections VALUES (1)", "begins with INSERT, and can only read"),
        ("SELECT 1; SELECT 2", "cannot be answered"),
        ("SELECT 1) AS a; COPY (SELECT 1) TO '{root}/x'; SELECT * FROM (SELECT 1", "only one query"),
        ("SELECT *\nFROM nonesuch", "clientinfo: the query cannot be answered: there is no table or view nonesuch; `kafka-clientinfo tables` lists"),
        ("SELECT * FROM Upgrade_imapct", "there is no table or view Upgrade_imapct; did you mean upgrade_impact?"),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled by configuration"),
        (" ; ", "give one such as SELECT"),
        ("SELECT '\x1b[2J' FROM nonesuch", "nonesuch"),
        ("SELECT '\udcff'", "not UTF-8"),
    ],
)  # fmt: skip
def test_sql_only_reads(warehouse: Path, ask: Any, query: str, says: str) -> None:
    before = sorted(warehouse.rglob("*"))
    answer = ask("sql", query.replace("{root}", str(warehouse)), "--warehouse", warehouse)
    assert answer.code == 2
    assert says in answer.err
    assert not [text for text in ("\x1b", "LINE") if text in answer.err]
    assert sorted(warehouse.rglob("*")) == before


@pytest.mark.parametrize(("clusters", "end"), [(20, ""), (21, ", …")])
def test_an_unknown_cluster_names_twenty_known_ones(clusters: int, end: str, tmp_path: Path, ask: Any) -> None:
    names = ["c", *(f"c{number}" for number in range(1, clusters))]
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1", cluster=name) for name in names])
    known = ", ".join(map(repr, sorted(names)[:20]))
    for command in (["summary"], ["clients"], ["connection", "x"], ["violations"]):
        answer = ask(*command, "--cluster", HOSTILE, "--warehouse", root)
        assert answer.code == 2
        assert answer.err.endswith(f"it has those of {known}{end}\n")


def test_where_no_connection_fits_the_tables_are_counted_alone(warehouse: Path, ask: Any) -> None:
    assert f"\nTables in {warehouse}\n" in ask("summary", "--warehouse", warehouse).out
    answer = ask("summary", "--since", "2030-01-01", "--warehouse", warehouse)
    assert (answer.code, answer.out.splitlines()[0]) == (0, f"Tables in {warehouse}, of all clusters and times")
    assert answer.out.endswith(f"\n\nNo connection fits --since 2030-01-01; {TIMES}.\n")


@pytest.mark.parametrize(
    ("filters", "asked_for", "instead"),
    [
        (["--principal", "bob"], "--principal bob", f"principals have a type in front: User:bob, or *bob; {NAMED}"),
        (["--principal", "User:bob"], "--principal User:bob", NAMED),
        (["--principal", "app-2-role"], "--principal app-2-role", f"--principal '*app-2-role*' fits some; {NAMED}"),
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
def test_an_empty_answer_names_what_was_asked_for_and_what_is_there(
    warehouse: Path, tmp_path: Path, ask: Any, filters: list[str], asked_for: str, instead: str
) -> None:
    answer = ask("clients", *filters, "--warehouse", warehouse)
    assert answer.code == 0
    assert f"(no rows)\n\nNo client fits {asked_for}; {instead}.\n" in answer.out
    assert ask("clients", *filters, "--warehouse", warehouse, "--json")[:2] == (0, "[]\n")
    commands = [["upgrade", "--target", "4.0.1"]]
    if not {"--principal", "--client"} & set(filters):  # which a report has not
        commands.append(["report", "--output", str(tmp_path / "page.html")])
    for command in commands:
        answer = ask(*command, *filters, "--warehouse", warehouse)
        assert answer == (1, "", f"kafka-clientinfo: no client of {warehouse} fits {asked_for}; {instead}\n")
    assert not (tmp_path / "page.html").exists()


def test_where_there_are_only_brokers_no_client_is_said_to_fit(tmp_path: Path, ask: Any) -> None:
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1", role="broker")])
    assert "\nNo client is in the logs that were read.\n" in ask("clients", "--warehouse", root).out


def test_what_is_read_before_a_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Any) -> None:
    file = {"file_id": "f", "cluster": "c", "broker": "b", "path": "p"}
    for ledger, step in (([file], "build` first"), ([], "run` on logs")):
        root = write_warehouse(tmp_path / step[:3], {"ingested_files": ledger}, built_until=None)
        answer = ask("tables", "--warehouse", root)
        assert (answer.code, answer.out.startswith("Tables\n")) == (0, True)
        assert "\n\nThe tables are not built: `kafka-clientinfo run`, or `build`, makes them.\n" in answer.out
        message = f"kafka-clientinfo: the tables of {root} are not built; run `kafka-clientinfo {step}\n"
        assert ask("summary", "--warehouse", root) == (1, "", message)
    monkeypatch.setattr(context, "is_at_work", lambda root: True)
    assert ask("sql", "SELECT 1 AS n", "--warehouse", root).out.endswith("\n\nA run is at work on these tables.\n")


def test_a_table_that_is_gone_is_named_also_if_its_rows_are_not_known(tmp_path: Path, ask: Any) -> None:
    root = write_warehouse(tmp_path / "w", {"ingested_files": [{"file_id": "c", "cluster": "c", "ingested_at": at(9)}]})
    for command, table in ((["violations"], "connection_violations"), (["upgrade", "--target", "4.0.1"], "api_usage")):
        shutil.rmtree(root / table)
        answer = ask(*command, "--warehouse", root)
        assert answer.code == 1
        assert f"the table {table} is missing; `kafka-clientinfo build` makes it anew" in answer.err


def test_one_cluster_that_waits_for_a_build_is_enough_for_a_note(tmp_path: Path, ask: Any) -> None:
    file = {"broker": "b", "path": "p"}
    files = [
        file | {"file_id": name, "cluster": name, "ingested_at": at(seconds)} for name, seconds in (("c", 9), ("d", 10))
    ]
    root = write_warehouse(tmp_path / "w", {"ingested_files": files}, at(9))
    note = "There are newer requests that no build has seen: run `kafka-clientinfo build`."
    for cluster, ends in ([], True), (["--cluster", "c"], False), (["--cluster", "d"], True):
        assert ask("summary", *cluster, "--warehouse", root).out.endswith(f"\n{note}\n") is ends
