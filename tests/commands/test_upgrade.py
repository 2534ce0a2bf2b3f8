"""The command `upgrade`: verdict, owners, what it cannot tell, exit codes, and text that is safe to print."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands.upgrade import as_text, headline
from kafka_clientinfo.questions.impact import Fine, Impact
from kafka_clientinfo.releases.broker_releases import VERDICTS
from kafka_clientinfo.runs.steps import ROWS
from kafka_clientinfo.tables.spec import CLIENT, table_spec
from tests.commands.fleet_on_disk import fleet, use
from tests.frames import at
from tests.report.tables_on_disk import write_warehouse

HOSTILE = "evil\x1b[2J\r\n\u202e"


PRODUCE, FETCH = (0, "PRODUCE"), (1, "FETCH")
USES = (
    ("old", "app", PRODUCE, 2, {"advertised_max": 9}),
    ("old", HOSTILE, FETCH, 3, {"advertised_max": 12}),
    ("old", "held", FETCH, 2, {"advertised_max": 2}),
    ("old", "app", FETCH, 12, {"advertised_max": 12}),
    ("new", "app", PRODUCE, 9, {"advertised_max": 9}),
    ("info", "app", FETCH, 3, {"deprecated": True, "info_only": True}),
)
"""Cluster, client id, API, version and more of `api_usage`: one cluster breaks at 4.0, one is fine, one logs at INFO."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tables that the command reads; each use has a connection of its own."""
    connections, used = [], []
    for number, (cluster, client_id, (key, name), version, given) in enumerate(USES):
        connection = {
            "cluster": cluster,
            "broker": "b",
            "connection_id": f"{number}",
            "opened_at": at(0),
            "opened_seq": 0,
        }
        who = {"principal": "User:alice", "client_id": client_id, "remote_host": "10.0.0.9"}
        software = dict.fromkeys(("client_software_name", "client_software_version"), "unknown")
        role = {"role": "client", "api_versions_outcome": "negotiated"}
        opened = connection | who | software | role
        connections.append(opened)
        api = {"api_key": key, "api_name": name, "api_version": version, "header_version": 1, "highest_used": version}
        counts = {
            "requests": 10,
            "errors": 0,
            "unsupported": 0,
            "first_at": at(1),
            "last_at": at(2),
            "info_only": False,
        }
        used.append(opened | api | counts | given)
    offer = {
        "cluster": "new",
        "broker": "b",
        "api_key": 1,
        "min_version": 0,
        "max_version": 12,
        "answers": 1,
        "ingested_at": at(9),
    }
    offers = [offer | {"first_seen": at(0), "last_seen": at(9)}]
    ingested = [{"file_id": name, "cluster": name, "ingested_at": at(9)} for name in ("old", "new", "info", "empty")]
    ingested.append({"file_id": "x", "cluster": "new", "ingested_at": at(99)})
    tables = {"connections": connections, "api_usage": used, "broker_api_versions": offers, "ingested_files": ingested}
    for name, rows in ROWS.items():
        tables[name] = [dict(zip(table_spec(name).column_names, row, strict=True)) for row in rows()]
    return str(write_warehouse(tmp_path_factory.mktemp("upgrade") / "w", tables, at(9)))


def upgrade(warehouse: str, *arguments: str) -> int:
    return cli.main(["upgrade", "--warehouse", warehouse, *arguments])


@pytest.mark.parametrize(
    ("fine", "limits", "ends"),
    [
        (0, Fine(), "0 are fine."),
        (1, Fine(0, 1, 1), "1 is fine, as far as seen (metadata and versions only), from a host of which requests are refused already."),
        (3, Fine(0, 1, 2), "3 are fine, 1 of them as far as seen (metadata and versions only), 2 of them from hosts of which requests are "
         "refused already."),
        (3, Fine(1), "1 has requests that are refused already; 3 are fine."),
    ],
)  # fmt: skip
def test_the_headline_says_how_far_clients_are_fine(fine: int, limits: Fine, ends: str) -> None:
    counts = dict.fromkeys(VERDICTS, 0) | {"accepted": fine}
    assert headline("4.0.1", counts, limits).endswith(f"cannot be judged; {ends}")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--target", "4.0.1"), 3),
        (("--target", "3.9.1"), 0),
        (("--target", "4.0.1", "--cluster", "new"), 0),
        (("--all-targets", "--cluster", "old"), 3),
        (("--target", "4.0.1", "--cluster", "nonesuch"), 2),
        (("--target", "4.0.1", "--cluster", "empty"), 1),
        ((), 2),
        (("--target", "3.2"), 2),
    ],
)
def test_the_exit_code_is_the_verdict(warehouse: str, arguments: tuple[str, ...], code: int) -> None:
    assert upgrade(warehouse, *arguments) == code


def test_a_series_is_judged_by_its_newest_release_and_what_differs_is_named(
    warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = (
        "Kafka 4.0 is judged as 4.0.1, its newest release that was measured. Kafka 4.0.0 refuses JoinGroup v0 and v1, which 4.0.1 "
        "takes again (KAFKA-19444): go to 4.0.1 or later."
    )
    upgrade(warehouse, "--target", "4.0.1", "--json")
    expected = json.loads(capsys.readouterr().out)
    assert upgrade(warehouse, "--target", "4.0", "--json") == 3
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == f"kafka-clientinfo: {sentence}\n"
    assert found.pop("cannot_tell") == [sentence, *expected.pop("cannot_tell")]
    assert found == expected


def test_an_unknown_release_names_the_known_ones(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert upgrade(warehouse, "--target", "newest") == 2
    assert (
        "'newest' is known here; the newest is 4.4.0, and known are 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.0.2"
        in capsys.readouterr().err
    )


def test_who_has_no_requests_is_not_fine(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(warehouse, "--target", "4.0.1", "--cluster", "empty")
    assert "holds no requests, so that nobody can be judged" in capsys.readouterr().err


def test_what_is_not_built_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    not_built = write_warehouse(tmp_path / "not built", {}, built_until=None)
    assert upgrade(str(not_built), "--target", "4.0.1") == 1
    assert "are not built; run `kafka-clientinfo run` on logs" in capsys.readouterr().err
    without_table = write_warehouse(tmp_path / "without table", {})
    shutil.rmtree(without_table / "api_usage")
    assert upgrade(str(without_table), "--target", "4.0.1") == 1
    assert "api_usage is missing; `kafka-clientinfo build` makes it anew" in capsys.readouterr().err


@pytest.mark.parametrize(("cluster", "waits"), [("new", True), ("old", False)])
def test_requests_that_wait_for_a_build_are_told(
    warehouse: str, capsys: pytest.CaptureFixture[str], cluster: str, waits: bool
) -> None:
    upgrade(warehouse, "--target", "4.0.1", "--cluster", cluster)
    assert ("There are newer requests that no build has seen" in capsys.readouterr().out) == waits


@pytest.mark.parametrize(
    ("hosts", "owners", "ends"),
    [
        ([], None, "(unknown)  2026-11-21 02:00  why"),
        (["h1", "h2", "h3"], [], "h1, h2, h3  2026-11-21 02:00  why  no owner"),
        (["h1", "h2", "h3", "h4"], ["A", "B"], "h1, h2, h3, … (1,234)  2026-11-21 02:00  why  A, B"),
    ],
)
def test_text_names_some_hosts_and_all_owners(hosts: list[str], owners: list[str] | None, ends: str) -> None:
    row: dict[str, Any] = {name: name for name in CLIENT} | {"api_name": "FETCH", "api_version": 3, "requests": 7}
    row |= {"verdict": "refused", "reason": "why", "refused_from": None, "upgrade_to": None, "raise_setting": None}
    row |= {"last_seen": at(0), "hosts": 1234 if len(hosts) > 3 else len(hosts), "host_list": hosts}
    row |= {} if owners is None else {"owners": owners}
    result = Impact("4.0.1", clients=dict.fromkeys(VERDICTS, 0), rows=[row], found={"refused": 1})
    (line,) = [line for line in as_text(result).splitlines() if "FETCH v3" in line]
    assert line.rstrip().endswith(f"7  {ends}"), line


@pytest.mark.parametrize(
    ("clients", "found", "title"),
    [
        (1, 1, "Would break: 1 client, 1 row"),
        (46, 1068, "Would break: 46 clients, 1,068 rows"),
        (0, 3, "Would break: 3 rows of clients above"),
    ],
)
def test_a_title_counts_clients_and_rows(clients: int, found: int, title: str) -> None:
    row: dict[str, Any] = {name: name for name in CLIENT} | {"api_name": "FETCH", "api_version": 3, "requests": 7}
    row |= {"verdict": "refused", "reason": "why", "refused_from": None, "upgrade_to": None, "raise_setting": None}
    row |= {"last_seen": at(0), "hosts": 1, "host_list": ["h"]}
    result = Impact(
        "4.0.1", clients=dict.fromkeys(VERDICTS, 0) | {"refused": clients}, rows=[row], found={"refused": found}
    )
    lines = as_text(result).splitlines()
    assert title in lines
    more = [line for line in lines if line.startswith("  … and ")]
    assert more == ([f"  … and {found - 1:,} more rows; --limit 0 and --json have all"] if found > 1 else [])


def test_a_log_at_info_says_what_it_cannot_know(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(warehouse, "--target", "4.0.1", "--cluster", "info")
    assert "Brokers that log at INFO: info/b." in capsys.readouterr().out
    upgrade(warehouse, "--target", "4.0.1", "--cluster", "new")
    assert "INFO" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no target is given; name one with --target, or use --all-targets"),
        (("--all-targets", "--by", "owner"), "--by owner needs a release; name one with --target"),
    ],
)
def test_what_is_asked_without_a_release_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade("/nonesuch", *arguments) == 2
    assert capsys.readouterr().err == f"kafka-clientinfo: {message}\n"


def test_client_ids_and_software_are_whole_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long_one = use("i" * 200, "h", refused="below_range", client_software_name="s" * 50)
    assert upgrade(str(fleet(tmp_path / "w", [long_one])), "--target", "4.0.1") == 3
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "METADATA v12" in line)
    assert line.split()[2:5] == ["i" * 200, "s" * 50, "v1.0"]
