"""A process that runs `kafka-clientinfo run` again and again in one Spark session, until it is killed.

Speaks in lines on standard output: `ready`, then per line read from standard input `stage NAME`…, the run's report
as one JSON object, `done CODE`. As a process: `python -m tests.soak.job LOGS WAREHOUSE SPARK_LOG [MASTER]`.
"""

import sys
from dataclasses import replace
from typing import Any

from kafka_clientinfo import cli, pipeline
from kafka_clientinfo.lake import local_session
from kafka_clientinfo.settings import load_settings


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(logs: str, warehouse: str, spark_log: str, master: str = "") -> None:
    """Run on every line of standard input."""
    settings = load_settings()
    if master:
        settings = replace(settings, spark={**settings.spark, "spark.master": master})
    spark = local_session(settings, "soak", spark_log)
    real = pipeline.run

    def told(*arguments: Any) -> pipeline.RunReport:
        return real(*arguments[:4], progress=lambda stage: _say(f"stage {stage}"))

    pipeline.run = told
    _say("ready")
    for _ in sys.stdin:
        code = cli.main(["run", logs, "--warehouse", warehouse, "--json"], spark)
        _say(f"done {code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
