"""spark-submit jobs/build_tables.py --warehouse URI [--cluster NAME] [--conf conf/cluster.toml] [--json]."""

import sys

from pyspark.sql import SparkSession

from kafka_clientinfo.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", *sys.argv[1:]], SparkSession.builder.appName("kafka_clientinfo build").getOrCreate()))
