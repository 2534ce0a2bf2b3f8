"""The data source `kafka_request_log` of Spark 4: request logs as rows, in batches and streams.

    spark.dataSource.register(KafkaRequestLog)
    requests = spark.read.format("kafka_request_log").option("cluster", "orders").load("/Volumes/main/kafka/logs")

docs/howto/ways-in.md has the options, of which the names' case does not matter. Spark finds it without `register` where the
wheel is installed (see `pyspark_kafka_request_log`).
"""

from pyspark import __version__

try:
    import pyspark.sql.datasource  # noqa: F401
except ImportError:
    raise ImportError(
        f"kafka_clientinfo.source needs Spark 4.0 or later, for Python data sources, and this is {__version__}; "
        "kafka_clientinfo.run reads logs with this release, too"
    ) from None

from .log_source import KafkaRequestLog

__all__ = ["KafkaRequestLog"]
