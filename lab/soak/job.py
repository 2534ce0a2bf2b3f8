"""A process that runs commands of kafka-clientinfo again and again in one Spark session, until it is killed.

Reads `run`, `ingest`, `build` or `maintain` per line of standard input, with options if need be. Speaks in lines on standard output: `ready`, then per
command `stage NAME`…, its report as one JSON object, `done CODE`. As a process: `python -m lab.soak.job LOGS WAREHOUSE SPARK_LOG [MASTER]`.
"""

import sys
from dataclasses import replace

from kafka_clientinfo import cli
from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.spark.session import local_session
from tests.stages import at_stages


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(logs: str, warehouse: str, spark_log: str, master: str = "") -> None:
    """Do what every line of standard input says."""
    settings = load_settings()
    if master:
        settings = replace(settings, spark={**settings.spark, "spark.master": master})
    spark = local_session(settings, spark_log)
    _say("ready")
    with at_stages(lambda stage: _say(f"stage {stage}")):
        for line in sys.stdin:
            name, *options = line.split()
            inputs = [logs] if name in ("run", "ingest") else []
            code = cli.main([name, *inputs, *options, "--warehouse", warehouse, "--json"], spark)
            _say(f"done {code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
