"""A cluster run as in the field is read as it was on the wire, and nobody is accused of what the wire does not show.

`scorer` compares connections with the wire.

Three brokers with addresses of their own; the request log's level switched at run time; a broker killed under its clients;
an upgrade under live clients; NAT, a container's log, a second listener that is seldom used. Runs for about seven minutes.
Needs root, network namespaces, iptables, tcpdump, Maven, a JDK 17, Python 3.11 and the package registries; what is missing
skips. KAFKA_CLIENTINFO_FIELD_RUN names the folder of a run that is there already (`python -m lab.field.scenario FOLDER`).
"""

import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from . import scenario
from .capture import load
from .hosts import HOSTS
from .scorer import Score, score, shown, tables_of

pytestmark = pytest.mark.oracle

TOOLS = ("ip", "iptables", "tcpdump", "sysctl", "mvn", "java", "javac", "python3.11")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Score:
    folder = Path(os.environ.get("KAFKA_CLIENTINFO_FIELD_RUN") or tmp_path_factory.mktemp("field"))
    if not (folder / "truth.json.gz").exists():
        skip_where_impossible()
        scenario.play(folder)
    wires = load(folder / "truth.json.gz")
    result = score(tables_of(folder), wires)
    print(shown(result, wires))
    return result


def skip_where_impossible() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    probe = subprocess.run(["ip", "netns", "add", "kf-probe"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", "kf-probe"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"no network namespaces here: {probe.stderr.strip()}")


def test_the_run_is_as_in_the_field(scored: Score) -> None:
    """Without these the other tests would pass on a cluster that puts nothing to the test."""
    connections: dict[tuple[str, str], set[int]] = defaultdict(set)
    for one in scored.judged:
        connections[one.row["broker"], one.row["connection_id"]].update(one.wires)
    assert any(len(numbers) > 1 for numbers in connections.values()), "no id was used again"
    assert sum((one.first_place or 0) > 0 for one in scored.judged) > 30, "no log was switched on under connections"
    assert {program for _, program in scored.programs} == set(HOSTS)
    assert "forwarding" in {one.row["role"] for one in scored.judged}


def test_every_request_is_read_as_on_the_wire(scored: Score) -> None:
    assert scored.requests > 10_000
    assert scored.unmatched == []


def test_no_start_is_observed_that_the_log_does_not_hold(scored: Score) -> None:
    assert scored.observed == []


def test_no_connection_is_cut_and_no_two_are_one(scored: Score) -> None:
    assert (scored.cut, scored.merged) == ({}, [])


def test_brokers_are_brokers_and_clients_are_clients(scored: Score) -> None:
    assert scored.roles == []


def test_nobody_is_accused_of_what_the_wire_does_not_show(scored: Score) -> None:
    assert scored.innocent() == []
