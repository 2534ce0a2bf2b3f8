"""spark-submit jobs/build_tables.py --warehouse URI [--conf conf/cluster.toml] [--json]."""

from kafka_clientinfo.cli import job

if __name__ == "__main__":
    job("build")
