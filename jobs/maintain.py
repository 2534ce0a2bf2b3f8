"""spark-submit jobs/maintain.py --warehouse URI [--retention-days N] [--vacuum-hours H] [--conf conf/cluster.toml] [--json]."""

from kafka_clientinfo.cli import job

if __name__ == "__main__":
    job("maintain")
