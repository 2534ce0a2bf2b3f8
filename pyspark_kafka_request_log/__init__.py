"""Lets Spark find the data source `kafka_request_log`: it looks for `DefaultSource` in modules named `pyspark_…`."""

from kafka_clientinfo.source import KafkaRequestLog as DefaultSource

__all__ = ["DefaultSource"]
