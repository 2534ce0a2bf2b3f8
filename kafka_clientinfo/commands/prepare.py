"""`python -m kafka_clientinfo.commands.prepare [LOGS…]`: what `make setup` does once so that every run starts fast.

It fetches Delta's jars. If small logs are given, it also makes the archive of classes from runs on them. Runs do not
make the archive themselves: writing it takes longer than a small run. Running this again does nothing as long as nothing
has changed.
"""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..config.settings import load_settings
from ..errors import ClientInfoError, missing_extra
from . import text_tables

try:
    from ..runs.run import run
    from ..spark.session import end_session, local_conf, local_session
    from ..spark.session_files import archive_path, delta_is_given, ensure_jars, make_whole, with_option
except ModuleNotFoundError as error:
    if (extra := missing_extra(error)) is None:
        raise
    sys.exit(f"kafka-clientinfo: {extra}")


def main(logs: Sequence[str]) -> int:
    try:
        given = load_settings().spark
        if not delta_is_given(given):
            ensure_jars(given, None)  # Ivy says itself what it fetches, and why it cannot
        path = archive_path(local_conf(given))
    except (ClientInfoError, OSError) as error:
        text_tables.complain(error)
        return 1
    if not logs or path.exists():
        return 0
    print("kafka-clientinfo: making an archive of classes; this takes some minutes, once", file=sys.stderr)
    try:
        make_whole(path, lambda target: _train(logs, with_option(given, f"-XX:ArchiveClassesAtExit={target}")))
    except (ClientInfoError, OSError) as error:
        text_tables.complain(f"no archive of classes could be made, so that runs start some seconds later: {error}")
    return 0


def _train(logs: Sequence[str], conf: Mapping[str, str]) -> None:
    """Run as users do, first and with new bytes, in one session; its JVM writes the archive when it ends."""
    settings = replace(load_settings(), spark=conf)
    session = local_session(settings, log_file=os.devnull)
    with tempfile.TemporaryDirectory(prefix="kafka-clientinfo-prepare-") as scratch:
        for until in range(1, len(logs) + 1):
            run(session, logs[:until], f"{scratch}/warehouse", settings)
    session.stop()
    end_session()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
