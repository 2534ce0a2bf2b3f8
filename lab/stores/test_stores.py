"""Logs and warehouses on gs, abfss and hdfs, on a stand-in for each (`oracle`); S3 has tests of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from . import servers

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("server", [servers.gs, servers.abfss, servers.hdfs], ids=["gs", "abfss", "hdfs"])
def test_runs_read_and_write_there(
    server: Callable[[Path], AbstractContextManager[servers.Store]], tmp_path: Path
) -> None:
    """What happens there is in `run`, a process of its own, whose JVM has what the store needs."""
    with server(tmp_path) as store:
        conf = tmp_path / "store.toml"
        conf.write_text(
            "[spark]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in store.conf.items())
        )
        # the store's modules last, so that they take nothing's place
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH"), store.modules]))
        command = [
            sys.executable,
            "-m",
            "lab.stores.run",
            store.logs,
            store.warehouse,
            str(conf),
            str(tmp_path / "fresh"),
        ]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, **store.environment, "PYTHONPATH": path},
        )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert rows["requests"] > 0
    assert rows["connections"] > 0
