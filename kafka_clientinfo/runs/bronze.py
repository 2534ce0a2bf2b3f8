"""The first step of a run on somebody's own table of requests, as a stream of the data source writes it.

Each row that is new in it is stored in the warehouse, too: retention there is the warehouse's own. The ledger
shows what is new, as for logs. What a file's requests show together is found by all of its rows, so a file that grows is read
again, in the columns that this needs. Topics, rejected records and what server.log says are not in such a table.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from uuid import uuid4

from pyspark.sql import functions as F

from ..config.settings import Settings
from ..errors import InputError
from ..ingestion.split_statistics import file_report
from ..ingestion.stored_requests import files_of, with_times_of
from ..spark.arrow_rows import collect, relation_of
from ..spark.session_conf import REQUEST_BYTES, SMALL_BYTES, sized
from ..tables.spec import OF_TABLE, table_spec
from ..warehouse.state import LEDGER
from ..warehouse.warehouse import Warehouse
from .ingest import Ingested, RunReport, after, files_read, refuse_other_source, store_files

_COLUMNS = table_spec("requests").read_names
_REACHED = "file_id string, first_new bigint, last_new bigint"


def take_requests(table: str, lake: Warehouse, settings: Settings, report: RunReport) -> Ingested:
    with sized(lake.spark, 0), report.stage("plan"):
        ledger = files_read(lake)
        refuse_other_source(ledger.values(), is_table=True)
        rows = lake.spark.read.table(table)
        check_columns(rows.columns, table)
        reached = {name: int(row["bytes_ingested"]) for name, row in ledger.items()}
        last = collect(rows.groupBy("file_id").agg(F.max("byte_offset"), F.count("*")))
        grown = [(name, reached.get(name, 0), offset) for name, offset, _ in last if offset >= reached.get(name, 0)]
        number = sum(count for name, offset, count in last if offset >= reached.get(name, 0))
    if not grown:
        return Ingested(ledger)
    with sized(lake.spark, number * REQUEST_BYTES):
        lake.one_file = number * REQUEST_BYTES <= SMALL_BYTES
        bounds = F.broadcast(relation_of(lake.spark, grown, _REACHED))
        its = rows.join(bounds, on="file_id", how="inner").where("byte_offset <= last_new")  # a stream may write on
        batch_id, now = f"{OF_TABLE}{uuid4().hex}", after(datetime.now(UTC), ledger.values())
        with report.stage("read and parse"):
            files = [with_times_of(row, ledger.get(row["file_id"])) for row in files_of(its, batch_id, now)]
            report.files = [file_report(row, ledger.get(row["file_id"])) for row in files]
        with report.stage("requests"):
            fresh = its.where("byte_offset >= first_new").withColumn("ingested_at", F.lit(now))
            lake.append("requests", fresh.select(*_COLUMNS), sum(file["requests"] for file in report.files))
        with report.stage(LEDGER):
            by_id = store_files(lake, ledger, files, settings)
        return Ingested(by_id, ledger)


def check_columns(columns: Collection[str], name: str) -> None:
    """Raise InputError if columns of `requests` are missing; `name` is that of the relation that has these."""
    if lacking := [column for column in _COLUMNS if column not in columns]:
        raise InputError(
            f"{name} has no column {', '.join(lacking[:3])}; give rows as the data source kafka_request_log has them"
        )
