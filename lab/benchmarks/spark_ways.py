"""Reads a 2.8+ request log with Spark's own functions: what a user without this package would write."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

MARK = "Completed request:{"
_TIMES = ("total", "requestQueue", "local", "remote", "throttle", "responseQueue", "send")

_HEADER = T.StructType(
    [
        T.StructField("isForwarded", T.BooleanType()),
        T.StructField(
            "requestHeader",
            T.StructType(
                [
                    T.StructField("requestApiKey", T.IntegerType()),
                    T.StructField("requestApiVersion", T.IntegerType()),
                    T.StructField("correlationId", T.IntegerType()),
                    T.StructField("clientId", T.StringType()),
                    T.StructField("requestApiKeyName", T.StringType()),
                ]
            ),
        ),
    ]
)
_TAIL = T.StructType(
    [
        T.StructField("connection", T.StringType()),
        *(T.StructField(f"{name}TimeMs", T.DoubleType()) for name in _TIMES),
        T.StructField("securityProtocol", T.StringType()),
        T.StructField("principal", T.StringType()),
        T.StructField("listener", T.StringType()),
        T.StructField(
            "clientInformation",
            T.StructType(
                [T.StructField("softwareName", T.StringType()), T.StructField("softwareVersion", T.StringType())]
            ),
        ),
    ]
)


def log_files(folder: str) -> list[str]:
    """The logs below a folder."""
    return sorted(str(path) for path in Path(folder).rglob("kafka-request.log*"))


def _lines(spark: SparkSession, logs: Sequence[str]) -> DataFrame:
    return spark.read.text(list(logs)).where(F.col("value").contains(MARK))


def whole_record(spark: SparkSession, logs: Sequence[str]) -> DataFrame:
    """`from_json` on the record's whole JSON."""
    schema = T.StructType([*_HEADER.fields, *_TAIL.fields])
    text = F.regexp_extract("value", r"Completed request:(\{.*\}) \(", 1)
    parsed = _lines(spark, logs).select(_logged_at(), F.from_json(text, schema).alias("r"))
    return _columns(parsed, F.col("r"), F.col("r"))


def head_and_tail(spark: SparkSession, logs: Sequence[str]) -> DataFrame:
    """`from_json` on slices: what stands before the request's body and what stands after the response's."""
    head = F.concat(
        F.substring_index(F.substring_index("value", ',"request":', 1), "Completed request:", -1), F.lit("}")
    )
    rest = F.substring_index(F.substring_index("value", '"connection":', -1), " (kafka.request.logger)", 1)
    tail = F.concat(F.lit('{"connection":'), rest)
    parsed = _lines(spark, logs).select(
        _logged_at(), F.from_json(head, _HEADER).alias("h"), F.from_json(tail, _TAIL).alias("t")
    )
    return _columns(parsed, F.col("h"), F.col("t"))


def _logged_at() -> Column:
    return F.try_to_timestamp(F.substring("value", 2, 23), F.lit("yyyy-MM-dd HH:mm:ss,SSS")).alias("logged_at")


def _columns(parsed: DataFrame, head: Column, tail: Column) -> DataFrame:
    header, software = head["requestHeader"], tail["clientInformation"]
    return parsed.select(
        "logged_at",
        head["isForwarded"].alias("is_forwarded"),
        header["requestApiKey"].alias("api_key"),
        header["requestApiKeyName"].alias("api_name"),
        header["requestApiVersion"].alias("api_version"),
        header["correlationId"].alias("correlation_id"),
        header["clientId"].alias("client_id"),
        tail["connection"].alias("connection_id"),
        *(tail[f"{name}TimeMs"].alias(f"{name.lower()}_time_ms") for name in _TIMES),
        tail["securityProtocol"].alias("security_protocol"),
        tail["principal"].alias("principal"),
        tail["listener"].alias("listener"),
        software["softwareName"].alias("client_software_name"),
        software["softwareVersion"].alias("client_software_version"),
    )
