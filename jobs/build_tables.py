"""spark-submit jobs/build_tables.py --warehouse URI [--conf conf/cluster.toml] [--json]."""

import sys

from pyspark.sql import SparkSession

from kafka_clientinfo.cli import entry


def main() -> None:
    """Run the command in the session that is there or can be had; returns when it is done, else raises SystemExit."""
    entry(["build", *sys.argv[1:]], SparkSession.builder.appName("kafka_clientinfo build").getOrCreate())


if __name__ == "__main__":
    main()
