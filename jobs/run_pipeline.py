"""spark-submit jobs/run_pipeline.py LOGS… --warehouse URI [--cluster NAME] [--conf conf/cluster.toml] [--json]."""

from kafka_clientinfo.cli import job

if __name__ == "__main__":
    job("run")
