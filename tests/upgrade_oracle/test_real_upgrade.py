"""A real upgrade: who is named as breaking by a 2.8.2 broker's log is who fails against a real 4.0.1 broker.

Needs the harness that runs real brokers, Maven, a JDK 17 and the network.
"""

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import pipeline, upgrade

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent
HARNESS = HERE.parent.parent.parent / "shared" / "brokers" / "broker.py"
CLIENTS = ("0.10.2.2", "1.1.1", "2.3.1", "2.8.2", "3.3.2")
MODES = ("produce", "consume")


def program(client: str) -> list[str]:
    """Command line of the client with the classes of a release."""
    jars = Path.home() / ".cache" / "kafka-clientinfo-oracle" / f"upgrade-{client}"
    if not (jars / "UpgradeClient.class").exists():
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-Dkafka.version={client}"]
        subprocess.run([*copy, f"-DoutputDirectory={jars}"], cwd=HERE, check=True)
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", jars, HERE / "UpgradeClient.java"], check=True)
    return ["java", "-cp", f"{jars}:{jars}/*", "UpgradeClient"]


def works(client: str, mode: str, address: str) -> bool:
    command = [*program(client), address, mode, f"{client}-{mode}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    return int(done.stdout.split()[-1]) > 0


def failing(harness: Any, release: str, folder: Path) -> set[str]:
    """Client ids that cannot do their work at a broker of this release; 3.3.2 fills the topic first."""
    with harness.running_broker(release, folder) as broker:
        assert works("3.3.2", "produce", broker.address)
        return {f"{client}-{mode}" for client in CLIENTS for mode in MODES if not works(client, mode, broker.address)}


def test_who_is_named_is_who_fails(spark: Any, tmp_path: Path) -> None:
    if not HARNESS.exists():
        pytest.skip("the harness that runs real brokers is not here")
    spec = importlib.util.spec_from_file_location("broker_harness", HARNESS)
    assert spec is not None
    assert spec.loader is not None
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    assert failing(harness, "2.8.2", tmp_path / "2.8.2") == set()
    pipeline.run(spark, [str(tmp_path / "2.8.2" / "kafka-request.log")], str(tmp_path / "warehouse"))
    verdict = upgrade.impact(spark, str(tmp_path / "warehouse"), "4.0.1")
    named = {row["client_id"] for row in verdict.rows if row["verdict"] == "removed"}
    print("named as breaking at 4.0.1:", *sorted(named))
    assert named == failing(harness, "4.0.1", tmp_path / "4.0.1")
    assert named == {"0.10.2.2-produce", "0.10.2.2-consume"}
