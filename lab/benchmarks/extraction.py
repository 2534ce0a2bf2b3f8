"""Reads a log in one way and prints what it found, with the seconds: `python -m lab.benchmarks.extraction WAY FOLDER`.

Every way reads eight values of every request and folds them to the same few sums and maxima, so that each value is really taken and
the answers can be compared. `start` is everything before the reading: interpreter, imports, Spark session. `read` is the reading with
its fold, `read again` the same once more in the same process: what a longer log would feel of it. Only the way `read_and_split` takes no values: it shows what any reader in Python pays at least.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .measure import STARTED
from .spark_ways import MARK, log_files

if TYPE_CHECKING:
    import polars
    from pyspark.sql import DataFrame, SparkSession

Answer = dict[str, Any]
Reading = Callable[[], Answer]

SUMS = ("requests", "api_keys_sum", "correlation_ids_sum", "total_time_us_sum")
MAXIMA = ("connection_id", "client_id", "client_software_name", "client_software_version")
_HEAD_END, _TAIL_START = ',"request":', ',"connection":'


def _answer(values: Iterable[Any]) -> Answer:
    return dict(zip((*SUMS, *(f"max_{name}" for name in MAXIMA)), values, strict=True))


def local_spark(jvm_options: bool = True) -> "SparkSession":
    """The package's own local session; `jvm_options=False` leaves the JVM's options at Spark's defaults."""
    from kafka_clientinfo import load_settings, local_session

    settings = load_settings()
    if not jvm_options:
        conf = {key: value for key, value in settings.spark.items() if key != "spark.driver.extraJavaOptions"}
        settings = replace(settings, spark=conf)
    return local_session(settings)


def _fold(rows: "DataFrame") -> Answer:
    from pyspark.sql import functions as F

    return _answer(
        rows.agg(
            F.count("*"),
            F.sum("api_key"),
            F.sum("correlation_id"),
            F.sum(F.round(F.col("total_time_ms") * 1000).cast("long")),
            *(F.max(name) for name in MAXIMA),
        ).first()
    )


def this_package(folder: str) -> Reading:
    """The package's reading in Spark: plan, read and parse, as its run does."""
    spark = local_spark()
    from pyspark.sql import functions as F

    from kafka_clientinfo import load_settings
    from kafka_clientinfo.ingestion.by_spark import parse_logs
    from kafka_clientinfo.ingestion.discovery import find_logs
    from kafka_clientinfo.ingestion.plan import make_plan

    def read() -> Answer:
        plan = make_plan(find_logs([folder]), {}, load_settings(), os.cpu_count() or 1)
        requests = parse_logs(spark, plan, "UTC").where("request IS NOT NULL").select(F.col("request.*"))
        return _fold(requests)

    return read


def from_json(folder: str, sliced: bool, jvm_options: bool = True) -> Reading:
    """Spark's `from_json` on whole records, or on their heads and tails only."""
    spark = local_spark(jvm_options)
    from . import spark_ways

    way = spark_ways.head_and_tail if sliced else spark_ways.whole_record
    return lambda: _fold(way(spark, log_files(folder)))


def parser_alone(folder: str) -> Reading:
    """The package's record parser in one Python process, without Spark."""
    from kafka_clientinfo.logs import Parser, RequestEvent, range_records

    def read() -> Answer:
        sums, tops = [0, 0, 0, 0], ["", "", "", ""]
        for log in log_files(folder):
            parser = Parser()
            for record in range_records(Path(log), 0, None):
                event = parser.parse(record)
                if isinstance(event, RequestEvent):
                    sums[0] += 1
                    sums[1] += event.api_key
                    sums[2] += event.correlation_id
                    sums[3] += round((event.total_time_ms or 0) * 1000)
                    tops = [max(top, getattr(event, name) or "") for top, name in zip(tops, MAXIMA, strict=True)]
        return _answer([*sums, *tops])

    return read


def read_and_split(folder: str) -> Reading:
    """Plain Python: read lines and find the completed requests among them."""

    def read() -> Answer:
        mark, requests = MARK.encode(), 0
        for log in log_files(folder):
            with open(log, "rb", buffering=1 << 20) as lines:
                requests += sum(1 for line in lines if mark in line)
        return {"requests": requests}

    return read


def polars_way(folder: str, sliced: bool) -> Reading:
    """Polars' streaming engine: lines, `json_decode` of whole records or of heads and tails."""
    import polars as pl

    numbers = {"requestApiKey": pl.Int64, "correlationId": pl.Int64, "clientId": pl.String}
    head = pl.Struct({"requestHeader": pl.Struct(numbers)})
    software = {"softwareName": pl.String, "softwareVersion": pl.String}
    tail = pl.Struct({"connection": pl.String, "totalTimeMs": pl.Float64, "clientInformation": pl.Struct(software)})
    whole = pl.Struct([*head.fields, *tail.fields])

    def read() -> Answer:
        text = pl.col("line").str.strip_suffix(" (kafka.request.logger)")
        lines = pl.scan_lines(log_files(folder), name="line").filter(pl.col("line").str.contains(MARK, literal=True))
        if sliced:
            first = text.str.splitn(_HEAD_END, 2).struct[0].str.splitn("Completed request:", 2).struct[1] + "}"
            last = '{"connection":' + text.str.split(_TAIL_START).list.last()
            parsed = lines.select(first.str.json_decode(head).alias("h"), last.str.json_decode(tail).alias("t"))
        else:
            record = text.str.extract(r"Completed request:(\{.*)$", 1).str.json_decode(whole)
            parsed = lines.select(record.alias("h")).with_columns(t="h")
        return _answer(_fold_polars(parsed).collect(engine="streaming").row(0))

    return read


def _fold_polars(parsed: "polars.LazyFrame") -> "polars.LazyFrame":
    import polars as pl

    header = pl.col("h").struct.field("requestHeader").struct
    tail = pl.col("t").struct
    software = tail.field("clientInformation").struct
    return parsed.select(
        pl.len().alias("n"),
        header.field("requestApiKey").sum(),
        header.field("correlationId").sum(),
        (tail.field("totalTimeMs") * 1000).round().cast(pl.Int64).sum(),
        tail.field("connection").max(),
        header.field("clientId").max(),
        software.field("softwareName").max(),
        software.field("softwareVersion").max(),
    )


def duckdb_way(folder: str, sliced: bool) -> Reading:
    """DuckDB: lines as a CSV of one column, `json_transform` of whole records or of heads and tails."""
    import duckdb

    head = '{"requestHeader":{"requestApiKey":"BIGINT","correlationId":"BIGINT","clientId":"VARCHAR"}}'
    tail = (
        '{"connection":"VARCHAR","totalTimeMs":"DOUBLE",'
        '"clientInformation":{"softwareName":"VARCHAR","softwareVersion":"VARCHAR"}}'
    )
    whole = head[:-1] + "," + tail[1:]
    text = "line[strpos(line, 'Completed request:') + 18 : -24]"
    if sliced:
        first = f"split_part({text}, '{_HEAD_END}', 1) || '}}'"
        last = f"'{{\"connection\":' || string_split({text}, '{_TAIL_START}')[-1]"
        parsed = f"json_transform({first}, '{head}') AS h, json_transform({last}, '{tail}') AS t"
    else:
        parsed = f"json_transform({text}, '{whole}') AS h, h AS t"

    def read() -> Answer:
        rows = duckdb.execute(
            f"""
            WITH lines AS (
                SELECT line FROM read_csv($logs, delim = '\x01', quote = '', escape = '', header = false, auto_detect = false,
                    columns = {{'line': 'VARCHAR'}}, max_line_size = 16000000)
                WHERE contains(line, $mark)),
            parsed AS (SELECT {parsed} FROM lines)
            SELECT count(*), sum(h.requestHeader.requestApiKey), sum(h.requestHeader.correlationId),
                sum(round(t.totalTimeMs * 1000)::BIGINT), max(t.connection), max(h.requestHeader.clientId),
                max(t.clientInformation.softwareName), max(t.clientInformation.softwareVersion)
            FROM parsed""",
            {"logs": log_files(folder), "mark": MARK},
        )
        row = rows.fetchone()
        assert row is not None
        return _answer(int(value) if number < len(SUMS) else value for number, value in enumerate(row))

    return read


def json_loads(folder: str) -> Reading:
    """Python's `json.loads` on every record: slow, plain, and the truth for logs that were not made."""

    def read() -> Answer:
        sums, tops = [0, 0, 0, 0], ["", "", "", ""]
        for log in log_files(folder):
            with open(log, encoding="utf-8", errors="replace", newline="\n") as lines:
                for line in lines:
                    at = line.find(MARK)
                    if at < 0:
                        continue
                    record = json.loads(line[at + 18 : line.rindex(" (")])
                    header, software = record["requestHeader"], record["clientInformation"]
                    sums[0] += 1
                    sums[1] += header["requestApiKey"]
                    sums[2] += header["correlationId"]
                    sums[3] += round(record["totalTimeMs"] * 1000)
                    found = (
                        record["connection"],
                        header["clientId"],
                        software["softwareName"],
                        software["softwareVersion"],
                    )
                    tops = [max(top, value or "") for top, value in zip(tops, found, strict=True)]
        return _answer([*sums, *tops])

    return read


WAYS: dict[str, Callable[[str], Reading]] = {
    "this package": this_package,
    "Spark from_json, whole record": partial(from_json, sliced=False),
    "Spark from_json, head and tail": partial(from_json, sliced=True),
    "Spark from_json, head and tail, Spark's own JVM options": partial(from_json, sliced=True, jvm_options=False),
    "Polars, whole record": partial(polars_way, sliced=False),
    "Polars, head and tail": partial(polars_way, sliced=True),
    "DuckDB, whole record": partial(duckdb_way, sliced=False),
    "DuckDB, head and tail": partial(duckdb_way, sliced=True),
    "Python json.loads": json_loads,
    "this package's parser, no Spark": parser_alone,
    "read and split only, Python": read_and_split,
}


def main() -> None:
    """Run one way."""
    way, folder = sys.argv[1:]
    started = float(os.environ.get(STARTED) or time.time())
    read = WAYS[way](folder)
    ready = time.time()
    answer = read()
    first = time.time()
    again = read()
    seconds = {"start": ready - started, "read": first - ready, "read again": time.time() - first}
    print(json.dumps({**seconds, "answer": answer, "is same again": again == answer}), flush=True)


if __name__ == "__main__":
    main()
