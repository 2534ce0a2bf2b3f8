"""A stand-in for S3 in an environment of its own, asked over HTTP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import fs as arrow_fs

from .connect_server import free_port

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "s3cret/key"}
"""Credentials for the server, for the environment of its clients."""


def _command(folder: Path) -> list[str]:
    """The server of KAFKA_CLIENTINFO_MOTO (a moto_server), or of an environment that is made for it."""
    named = os.environ.get("KAFKA_CLIENTINFO_MOTO")
    if named:
        return [named]
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "-qq", "moto[server]>=5"], check=True)
    return [str(folder / "bin" / "moto_server")]


@contextmanager
def moto_server(folder: Path) -> Iterator[str]:
    """Serve in here; yields host and port. An environment that is made for it lies in the folder."""
    port = free_port()
    command = [*_command(folder), "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"127.0.0.1:{port}"
        server.terminate()


def bucket(endpoint: str) -> Any:
    """The file system of the server, with a bucket `logs` that is made for it."""
    keys = {"access_key": KEYS["AWS_ACCESS_KEY_ID"], "secret_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    store = arrow_fs.S3FileSystem(**keys, endpoint_override=endpoint, scheme="http", allow_bucket_creation=True)
    store.create_dir("logs")
    return store
