"""`python -m kafka_clientinfo.commands.prepare [LOGS…]`: what `make setup` does once so that every run starts fast.

It fetches Delta's jars. If small logs are given, it also makes the archive of classes from runs on them. Runs do not
make the archive themselves: writing it takes longer than a small run, and in the background it would slow down whatever
comes next. Running this again does nothing as long as nothing has changed.
"""

import argparse
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from ..config.settings import load_settings
from ..errors import ClientInfoError
from ..spark.failures import missing_extra
from . import text_tables

try:
    from pyspark.sql import SparkSession

    from ..spark.java import check_java
    from ..spark.session import end_session, local_conf
    from ..spark.session_files import archive_path, delta_is_given, ensure_jars, make_archive, with_recording
except ModuleNotFoundError as error:
    if (extra := missing_extra(error)) is None:
        raise
    sys.exit(f"kafka-clientinfo: {extra}")

_PATIENCE_SECONDS = 1200


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare this machine; return 0 if runs can start, with the archive or without, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m kafka_clientinfo.commands.prepare", description="Make every run start fast."
    )
    parser.add_argument("logs", nargs="*", metavar="LOGS", help="small logs; runs on them fill the archive of classes")
    logs = parser.parse_args(argv).logs
    try:
        java = check_java()
        given = load_settings().spark
        if not delta_is_given(given):
            ensure_jars(given, None)  # Ivy says itself what it fetches, and why it cannot
        path = archive_path(java, local_conf(given, java).get("spark.driver.extraClassPath", ""))
    except (ClientInfoError, OSError) as error:
        text_tables.complain(error)
        return 1
    if not logs or path.exists():
        return 0
    print("kafka-clientinfo: making an archive of classes; this takes some minutes, once", file=sys.stderr)
    try:
        make_archive(path, lambda target: _train(logs, target))
    except OSError as error:
        text_tables.complain(f"no archive of classes could be made, so that runs start some seconds later: {error}")
    return 0


def _train(logs: Sequence[str], target: Path) -> None:
    """Run what users run (a first run, one with new bytes, reports) in one session; its JVM writes `target` when it ends."""
    from .. import cli

    options = with_recording(dict(load_settings().spark), target)["spark.driver.extraJavaOptions"]
    said = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="kafka-clientinfo-prepare-") as scratch:
        conf = Path(scratch) / "record.toml"
        conf.write_text(f'[spark]\n"spark.driver.extraJavaOptions" = {json.dumps(options)}\n', encoding="utf-8")
        common = ["--warehouse", str(Path(scratch) / "warehouse"), "--conf", str(conf)]
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            codes = [cli.main(["run", *logs[:until], *common]) for until in range(1, len(logs) + 1)]
            for report in (["violations"], ["upgrade", "--all-targets"]):
                cli.main([*report, *common])  # its exit code depends on the logs
        if (session := SparkSession.getActiveSession()) is not None:
            session.stop()
        end_session(_PATIENCE_SECONDS)  # waits for its JVM, which writes the archive just before it ends
    if any(codes) or not target.is_file():
        raise OSError((said.getvalue().strip().splitlines() or ["no file was written"])[-1])


if __name__ == "__main__":
    sys.exit(main())
