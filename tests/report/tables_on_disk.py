"""Warehouses written without Spark, from the declarations of the tables: delta-rs writes what a case is about."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from kafka_clientinfo.ingestion.arrow_schema import arrow_fields
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.runs.steps import ROWS
from kafka_clientinfo.tables.spec import RUNS, table_specs, view_specs
from kafka_clientinfo.tables.views import is_view
from kafka_clientinfo.warehouse.state import LEDGER, State
from kafka_clientinfo.warehouse.table_log import is_made
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import NOON


def _is_view(tables: LocalTables, name: str) -> bool:
    """Return whether a name is that of a view for which the test gives no rows."""
    return is_view(name) and not is_made(Path(tables.root) / name)


LocalTables._is_view = _is_view  # type: ignore[method-assign]


class _OnDisk(Warehouse):
    def relation(self, name: str) -> str:
        return self.address.table(name) if is_made(Path(self.root) / name) else super().relation(name)


class SparkTablesOnDisk(SparkTables):
    """What Spark reads of a warehouse that `write_warehouse` wrote; views may have given rows there too."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(spark, root)
        self._lake = _OnDisk(spark, root)


def schema(name: str) -> pa.Schema:
    """The table's columns."""
    return pa.schema(arrow_fields(name))


def write_warehouse(
    root: Path,
    rows: Mapping[str, Sequence[Mapping[str, Any]] | pa.Table],
    built_until: datetime | None = NOON,
    bucket_minutes: int | None = None,
) -> Path:
    """Write every declared table; those that are not given are empty, but for the package's data; columns are null.

    A view for which rows are given has these rows, whatever the tables hold.
    """
    of_views = None if bucket_minutes is None else {"bucket_minutes": bucket_minutes}
    counts = dict.fromkeys((name for name in rows if name in table_specs()), 1)
    state = State(built_until=built_until, view_settings=of_views, rows=counts)
    rows = {RUNS: [{"run": 1, "state": state.as_json}], **rows}
    for name in (*table_specs(), *(name for name in rows if name in view_specs())):
        if name in rows:
            _write(root, name, rows[name])
        else:
            shutil.copytree(Path(_not_given().name) / name, root / name)
    return root


def _write(root: Path, name: str, given: Sequence[Mapping[str, Any]] | pa.Table) -> None:
    wanted = schema(name)
    if isinstance(given, pa.Table):
        columns = [
            given[f.name].cast(f.type) if f.name in given.column_names else pa.nulls(given.num_rows, f.type)
            for f in wanted
        ]
        table = pa.Table.from_arrays(columns, schema=wanted)
    else:
        table = pa.Table.from_pylist([{f.name: row.get(f.name) for f in wanted} for row in given], schema=wanted)
    write_deltalake(str(root / name), table)


@cache
def _not_given() -> "tempfile.TemporaryDirectory[str]":
    """A folder with every table as it is without rows of a test; most of a warehouse's tables are so, and are copied."""
    folder = tempfile.TemporaryDirectory(prefix="not-given-")
    for name in table_specs():
        names = schema(name).names
        _write(Path(folder.name), name, [dict(zip(names, row, strict=True)) for row in ROWS.get(name, list)()])
    return folder


def change_state(root: Path, **changes: Any) -> None:
    """Change the state that the only run of a warehouse has stored, in its file."""
    (file,) = (root / RUNS).glob("*.parquet")
    rows = pq.read_table(file)
    (stored,) = rows.column("state").to_pylist()
    texts = pa.array([json.dumps({**json.loads(stored), **changes})])
    pq.write_table(rows.set_column(rows.column_names.index("state"), "state", texts), file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def of_many(root: Path, connections: int, clients: int) -> Path:
    """A warehouse of many connections: thirty days, twelve brokers, two clusters, a tenth of it with violations."""
    with duckdb.connect() as made:
        made.execute(f"""
            SET TimeZone = 'UTC';
            CREATE TABLE c AS SELECT i, (hash(i * 31) % {clients})::BIGINT AS client, CASE WHEN client % 5 = 0 THEN 'payments' ELSE 'orders' END AS cluster,
                'broker-' || (hash(i) % 12)::BIGINT AS broker, '10.0.0.1:9092-10.' || (client % 200) || '.' || (hash(i) % 9) || '.7:' || (20000 + i % 40000) || '-' || i AS connection_id,
                TIMESTAMPTZ '2026-10-20 00:00:00+00' + to_microseconds(i::BIGINT * {30 * 86_400_000_000 // connections}) AS opened_at, 0 AS opened_seq,
                opened_at + to_seconds((10 + (hash(i) % 7200)::BIGINT)::BIGINT) AS last_request_at, 1 + (hash(i) % 500)::BIGINT AS requests, 'observed' AS start,
                'client' AS role, '10.' || (client % 200) || '.' || (hash(i) % 9) || '.7' AS remote_host, 'SASL_SSL' AS listener, 'SASL_SSL' AS security_protocol,
                'User:team-' || (client % 97) AS principal, ['negotiated', 'fell_back', 'not_sent', 'negotiated'][1 + client % 4] AS api_versions_outcome,
                CASE WHEN client % 4 = 1 THEN 'to_highest_offered' END AS fallback_kind, 'service-' || client || '-consumer-' || client % 7 AS client_id,
                requests * 20 AS client_id_redundant_bytes, requests * 16 AS instance_id_bytes,
                CASE WHEN client % 4 = 2 THEN 'unknown' ELSE ['apache-kafka-java', 'librdkafka', 'sarama', 'kgo'][1 + client % 4] END AS client_software_name,
                CASE WHEN client % 4 = 2 THEN 'unknown' ELSE '3.' || (client % 10) || '.1' END AS client_software_version,
                CASE WHEN client % 4 = 2 THEN 'not_sent' END AS reason_unknown, []::VARCHAR[] AS invalid_software_texts
            FROM range({connections}) AS r(i)""")
        key = "cluster, principal, client_id, client_software_name, client_software_version"
        inventory = made.sql(f"""
            SELECT {key}, count(*) AS connections, sum(requests)::BIGINT AS requests, min(opened_at) AS first_seen, max(last_request_at) AS last_seen,
                   count(DISTINCT remote_host) AS host_count, list_sort(list(DISTINCT remote_host))[1:20] AS hosts, list_sort(list(DISTINCT broker))[1:20] AS brokers,
                   ['SASL_SSL'] AS listeners, ['SASL_SSL'] AS security_protocols, 0 AS instance_count,
                   [{{'api_key': 1, 'api_name': 'FETCH', 'min_version': 3, 'max_version': 13, 'requests': sum(requests)::BIGINT}}] AS apis, 0 AS group_count, []::VARCHAR[] AS groups
            FROM c GROUP BY {key}""").to_arrow_table()  # fmt: skip
        impact = made.sql(f"""
            SELECT {key}, api_key, api_name, api_version, sum(requests)::BIGINT AS requests, count(*) AS connections, 1 AS hosts,
                   list_sort(list(DISTINCT remote_host))[1:20] AS host_list, min(opened_at) AS first_seen, max(last_request_at) AS last_seen,
                   CASE WHEN client % 11 = 0 AND api_version = 3 THEN MAP {{'4.0.1': 'below_range', '4.4.0': 'below_range'}} ELSE MAP {{}} END AS refused_by,
                   MAP {{}}::MAP(VARCHAR, VARCHAR) AS deprecated_by, MAP {{}}::MAP(VARCHAR, VARCHAR) AS undecided_by, 'client' AS limited_by, false AS info_only
            FROM c, (VALUES (1, 'FETCH', 3), (3, 'METADATA', 9)) AS a(api_key, api_name, api_version)
            GROUP BY {key}, client, api_key, api_name, api_version""").to_arrow_table()
        broken = made.sql("""
            SELECT ['client_id_changed', 'client_id_lost', 'invalid_software_name'][1 + i % 3] AS rule, cluster, broker, connection_id, opened_at, opened_seq,
                   'KIP-1313' AS kip, ['warning', 'warning', 'error'][1 + i % 3] AS severity, ['either', 'either', 'client'][1 + i % 3] AS blames, client_id, principal, client_software_name, client_software_version, remote_host, 2 AS occurrences, opened_at AS first_at, opened_at AS last_at,
                   {'logged_at': opened_at, 'correlation_id': 7, 'grep': '^x'} AS example, 'client id ''two'' after ''one''; asked' AS message
            FROM c WHERE i % 10 = 0""").to_arrow_table()  # fmt: skip
        usage = made.sql("""
            SELECT cluster, broker, min(opened_at) AS first_at, max(last_request_at) AS last_at, false AS info_only
            FROM c GROUP BY cluster, broker""").to_arrow_table()
        tables = {"connections": made.sql("SELECT * FROM c").to_arrow_table(), "client_inventory": inventory}
        tables |= {"upgrade_impact": impact, "violations": broken, "api_usage": usage}
        ledger = [{"file_id": name, "cluster": name, "broker": "b", "path": "p"} for name in ("orders", "payments")]
        return write_warehouse(root, {**tables, LEDGER: ledger})
