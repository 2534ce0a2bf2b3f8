"""Bronze: requests, and the records that could not be read as one, as streams of the logs."""

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession

from kafka_clientinfo.source import KafkaRequestLog

spark = SparkSession.active()
spark.dataSource.register(KafkaRequestLog)


def logs(records: str) -> DataFrame:
    reading = spark.readStream.format("kafka_request_log").option("records", records)
    return reading.option("cluster", spark.conf.get("kafka_clientinfo.cluster")).load(
        spark.conf.get("kafka_clientinfo.logs")
    )


@pipelines.table
def requests() -> DataFrame:
    return logs("requests")


@pipelines.table
def rejected_records() -> DataFrame:
    return logs("rejected_records")
