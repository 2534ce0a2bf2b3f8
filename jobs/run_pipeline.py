"""spark-submit jobs/run_pipeline.py LOGS… --warehouse URI [--cluster NAME] [--conf conf/cluster.toml] [--json]."""

import sys

from pyspark.sql import SparkSession

from kafka_clientinfo.cli import entry

if __name__ == "__main__":
    entry(["run", *sys.argv[1:]], SparkSession.builder.appName("kafka_clientinfo run").getOrCreate())
