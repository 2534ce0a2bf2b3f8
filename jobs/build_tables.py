"""spark-submit jobs/build_tables.py --warehouse URI [--conf conf/cluster.toml] [--json]."""

import sys

from pyspark.sql import SparkSession

from kafka_clientinfo.cli import entry

if __name__ == "__main__":
    entry(["build", *sys.argv[1:]], SparkSession.builder.appName("kafka_clientinfo build").getOrCreate())
