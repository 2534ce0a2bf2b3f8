"""The quick checks: what they find in small tables, and in the samples' where retention has deleted rows of files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.checks import CHECKS, Check, quick_checks
from kafka_clientinfo.questions.queries import DUCKDB_SETTINGS, Rows, bind, in_utc
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse.ddl import CHECK, DELETION_VECTORS
from kafka_clientinfo.warehouse.state import SOURCES, State
from kafka_clientinfo.warehouse.table_layout import (
    TableLayout,
    check_readable,
    differences,
    stored_layout,
)

FILES = "(file_id VARCHAR, path VARCHAR, bytes_ingested BIGINT, damage VARCHAR, records BIGINT, requests BIGINT, \
rejected BIGINT, ignored MAP(VARCHAR, BIGINT), first_logged_at TIMESTAMPTZ, step_back_ms BIGINT, ingested_at TIMESTAMPTZ)"
FILE = """('{0}', '/logs/{0}', 100, {1}, 3004, 2, 1, MAP {{'failed_request': 1, 'server_log': 3000}},
'2026-01-02 00:00:10Z', 5000, '2026-01-03 00:00:00Z')"""


class Small:
    """Tables of two files, as they should be: two requests, a rejected record and a failed request of each."""

    root = "/of-no-machine"

    def __init__(self) -> None:
        self.duckdb = duckdb.connect()
        for setting in DUCKDB_SETTINGS:
            self.duckdb.execute(f"SET {setting}")
        self.duckdb.execute(f"CREATE TABLE ingested_files {FILES}")
        self.duckdb.execute(f"INSERT INTO ingested_files VALUES {FILE.format('f', 'NULL')}")
        self.duckdb.execute(f"INSERT INTO ingested_files VALUES {FILE.format('g', repr('cut'))}")
        for source in SOURCES:
            self.duckdb.execute(f"CREATE TABLE {source} (file_id VARCHAR, byte_offset BIGINT)")
        for file in "fg":
            self.duckdb.execute(f"INSERT INTO requests VALUES ('{file}', 0), ('{file}', 99)")
            self.duckdb.execute(f"INSERT INTO rejected_records VALUES ('{file}', {100 if file == 'g' else 50})")
            self.duckdb.execute(f"INSERT INTO failed_requests VALUES ('{file}', 70)")
        self.now: State | None = State(built_until=instant(3), rows=dict.fromkeys(table_specs(), 1))
        self.layouts: dict[str, TableLayout | None] = {
            name: TableLayout(
                {one.name: "".join(one.type.split()) for one in spec.columns},
                {DELETION_VECTORS: "false"} | {CHECK + check: text for check, text in spec.constraints.items()},
            )
            for name, spec in table_specs().items()
        }

    def state(self) -> State | None:
        return self.now

    def layout(self, name: str) -> TableLayout | None:
        return self.layouts[name]

    def query(self, statement: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        text, given = bind(statement, parameters, lambda name: name)
        found = self.duckdb.execute(text, given or None)
        names = tuple(column[0] for column in found.description or [])
        return Rows(names, [tuple(map(in_utc, row)) for row in found.fetchall()])


Alter = Callable[[Small], object]


def all_of(*alterations: Alter) -> Alter:
    return lambda tables: [alter(tables) for alter in alterations]


def sql(*statements: str) -> Alter:
    return lambda tables: [tables.duckdb.execute(statement) for statement in statements]


def state(**values: Any) -> Alter:
    return lambda tables: setattr(tables, "now", replace(tables.now, **values))  # type: ignore[type-var]


def layout(name: str, **properties: str) -> Alter:
    """Give a table properties; an empty one is taken away."""

    def alter(tables: Small) -> None:
        before = tables.layouts[name]
        assert before is not None
        given = {**before.properties, **{key.replace("_is_", "."): value for key, value in properties.items()}}
        tables.layouts[name] = replace(before, properties={key: value for key, value in given.items() if value})

    return alter


def column(table: str, name: str, stored: str | None) -> Alter:
    def alter(tables: Small) -> None:
        before = tables.layouts[table]
        assert before is not None
        columns = {key: one for key, one in before.columns.items() if key != name}
        tables.layouts[table] = replace(before, columns=columns | ({name: stored} if stored else {}))

    return alter


def missing(*names: str, counted: bool) -> Alter:
    def alter(tables: Small) -> None:
        tables.layouts |= dict.fromkeys(names)
        rows = {name: 1 for name in table_specs() if counted or name not in names}
        tables.now = replace(tables.now, rows=rows)  # type: ignore[type-var]

    return alter


def rows(source: str, file: str | None, declared: int, stored: int) -> dict[str, Any]:
    path = file and f"/logs/{file}"
    return {"source": source, "file_id": file, "path": path, "declared": declared, "rows": stored}


def offset(source: str, file: str, at: int, end: int | None = 100) -> dict[str, Any]:
    return {"source": source, "file_id": file, "byte_offset": at, "bytes_ingested": end}


def instant(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


BEGIN = datetime(2026, 1, 2, 0, 0, 5, tzinfo=UTC)
DELETED = {"retained_from": BEGIN + timedelta(microseconds=1)}
"""An instant after which a file may have requests that retention has deleted, by a microsecond."""
FIRST_OF_F = "DELETE FROM requests WHERE file_id = 'f' AND byte_offset = 0"
OF_RULES = "connection_violations"


def of_files(*found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {"rows of files": list(found)}


def of_layout(*found: tuple[str, str]) -> dict[str, list[dict[str, Any]]]:
    return {"layout": [{"table": table, "finding": finding} for table, finding in found]}


def of_build(until: str | None, ingested: int) -> dict[str, list[dict[str, Any]]]:
    return {"build": [{"built_until": until, "ingested_until": instant(ingested)}]}


def of_records(file: str, records: int) -> dict[str, list[dict[str, Any]]]:
    return {"records of files": [{"file_id": file, "path": f"/logs/{file}", "records": records, "sum": 3004}]}


FINDINGS: dict[str, tuple[Alter, dict[str, list[dict[str, Any]]]]] = {
    "as it should be": (sql(), {}),
    "a file with more records than it has": (
        sql("UPDATE ingested_files SET records = 3005 WHERE file_id = 'g'"), of_records("g", 3005),
    ),
    "a file with fewer": (sql("UPDATE ingested_files SET records = 3003 WHERE file_id = 'f'"), of_records("f", 3003)),
    "a request that is lost": (sql(FIRST_OF_F), of_files(rows("requests", "f", 2, 1))),
    "all requests of a file": (sql("DELETE FROM requests WHERE file_id = 'f'"), of_files(rows("requests", "f", 2, 0))),
    "a request that is there twice": (sql("INSERT INTO requests VALUES ('g', 99)"), of_files(rows("requests", "g", 2, 3))),
    "a rejected record that is there twice, and one that is lost": (
        sql("UPDATE rejected_records SET file_id = 'f', byte_offset = 9"),
        of_files(rows("rejected_records", "f", 1, 2), rows("rejected_records", "g", 1, 0)),
    ),
    "a failed request that is lost": (
        sql("DELETE FROM failed_requests WHERE file_id = 'g'"), of_files(rows("failed_requests", "g", 1, 0)),
    ),
    "rows where reading ended, and beyond": (
        sql("INSERT INTO requests VALUES ('f', 101), ('f', 100)", "INSERT INTO failed_requests VALUES ('g', 100)"),
        {"offsets in files": [offset("requests", "f", 100), offset("requests", "f", 101), offset("failed_requests", "g", 100)]},
    ),
    "rejected records beyond the one that stands for an unreadable rest": (
        sql("INSERT INTO rejected_records VALUES ('f', 100), ('g', 101)"),
        {"offsets in files": [offset("rejected_records", "f", 100), offset("rejected_records", "g", 101)]},
    ),
    "rows of a file that is not there": (
        sql("INSERT INTO requests VALUES ('h', 0)"), {"offsets in files": [offset("requests", "h", 0, None)]},
    ),
    "a build of less": (state(built_until=instant(3) - timedelta(seconds=1)), of_build("2026-01-02 23:59:59.000000", 3)),
    "a build of one file only": (
        sql("UPDATE ingested_files SET ingested_at = '2026-01-04 00:00:00Z' WHERE file_id = 'f'"),
        of_build("2026-01-03 00:00:00.000000", 4),
    ),
    "no build": (state(built_until=None), of_build(None, 3)),
    "no file and no build": (
        all_of(sql(*(f"DELETE FROM {name}" for name in ("ingested_files", *SOURCES))), state(built_until=None)), {},
    ),
    "a request that retention deleted": (all_of(sql(FIRST_OF_F), state(**DELETED, deleted={"requests": 1})), {}),
    "one that it has not deleted": (
        all_of(sql(FIRST_OF_F), state(**DELETED, deleted={"requests": 2})), of_files(rows("requests", None, 2, 3)),
    ),
    "all of them, of which it has deleted half": (
        all_of(sql("DELETE FROM requests"), state(**DELETED, deleted={"requests": 2})), of_files(rows("requests", None, 2, 0)),
    ),
    "one of a file that begins too late": (
        all_of(sql(FIRST_OF_F), state(retained_from=BEGIN, deleted={"requests": 1})), of_files(rows("requests", "f", 2, 1)),
    ),
    "one of a file without times": (
        all_of(sql("UPDATE ingested_files SET first_logged_at = NULL", "DELETE FROM rejected_records"),
               state(retained_from=instant(3), deleted={"rejected_records": 2})), {},
    ),
    "a row more than there was before retention": (
        all_of(sql("INSERT INTO requests VALUES ('f', 1)"), state(**DELETED, deleted={"requests": 1})),
        of_files(rows("requests", "f", 2, 3), rows("requests", None, 3, 5)),
    ),
    "deletion vectors": (
        layout("requests", delta_is_enableDeletionVectors="true"),
        of_layout(("requests", f"property {DELETION_VECTORS} is true, not false")),
    ),
    "no word of deletion vectors": (
        layout("requests", delta_is_enableDeletionVectors=""),
        of_layout(("requests", f"property {DELETION_VECTORS} is None, not false")),
    ),
    "other checks": (
        layout("ingested_files", delta_is_constraints_is_accounting="", delta_is_constraints_is_mine="1 = 1"),
        of_layout(("ingested_files", "check accounting is missing"), ("ingested_files", "check mine is not declared")),
    ),
    "a column more, and required ones that may be null": (
        all_of(column("requests", "mine", "int"), layout("requests", delta_is_constraints_is_required="")),
        of_layout(("requests", "column mine is not declared"), ("requests", "check required is missing")),
    ),
    # What follows leaves no table to be read, so that nothing else is looked for.
    "a column that is missing, and one of another type": (
        all_of(sql("DELETE FROM requests"), column(OF_RULES, "rule", None), column("requests", "client_id", "int")),
        of_layout(("requests", "column client_id has type int, not string"), (OF_RULES, "column rule is missing")),
    ),
    "a table that is missing": (missing(OF_RULES, counted=True), of_layout((OF_RULES, "is missing"))),
    "a table that no build has made": (missing(OF_RULES, counted=False), of_layout((OF_RULES, "is not made yet"))),
    "a table that no build has made, beside one that was altered": (
        all_of(missing(OF_RULES, counted=False), column("requests", "mine", "int")),
        of_layout((OF_RULES, "is not made yet"), ("requests", "column mine is not declared")),
    ),
}  # fmt: skip
ADVICE = {
    "a table that no build has made": "no build has come to its end with all tables: the next `kafka-clientinfo run` makes "
    "those that are not there",
}


def found_in(tables: Small) -> dict[str, Check]:
    return {check.name: check for check in quick_checks(tables, tables.root)}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FINDINGS)
def test_each_kind_of_damage_is_found_by_its_check_alone(name: str) -> None:
    alter, expected = FINDINGS[name]
    tables = Small()
    alter(tables)
    found = found_in(tables)
    for check in found.values():
        findings = sorted(expected.get(check.name, []), key=str)
        assert (check.failed, sorted(check.findings, key=str)) == (len(findings), findings), check.name
        assert check.requirement == CHECKS[check.name][0]
        assert check.advice == (ADVICE.get(name, CHECKS[check.name][1]) if findings else "")
        assert check.ok == (not findings)
    is_readable = not name.startswith(("a table", "a column that"))
    quick = ["layout", "records of files", "rows of files", "offsets in files", "build"]
    assert list(found) == (quick if is_readable else ["layout"])


def test_a_check_lists_the_first_findings_and_counts_all() -> None:
    tables = Small()
    sql("INSERT INTO requests SELECT 'f', 200 - range FROM range(30)")(tables)
    found = found_in(tables)["offsets in files"]
    assert (found.failed, [one["byte_offset"] for one in found.findings]) == (30, [*range(171, 191)])


def test_types_of_deltas_log_are_compared_in_the_words_of_spark() -> None:
    types: dict[str, Any] = {
        "string": "string", "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint",
        "decimal(10, 2)": "decimal(10,2)",
    }  # fmt: skip
    fields = [{"name": name, "type": name} for name in types]
    nested = {"type": "map", "keyType": "long", "valueType": {"type": "struct", "fields": fields[1:3]}}
    fields.append({"name": "nested", "type": {"type": "array", "elementType": nested}})
    types["nested"] = "array<map<bigint,struct<integer:int,long:bigint>>>"
    found = stored_layout(json.dumps({"fields": fields}), {"a": "b", "c": None})
    assert found == TableLayout(types, {"a": "b"})


@pytest.mark.parametrize(
    ("clustering", "says"),
    [
        (None, []),  # not known, as the commits are gone that named them
        (("cluster", "rule", "connection_id"), []),
        ((), ["is clustered by nothing, not by cluster, rule, connection_id"]),
        (("rule", "cluster"), ["is clustered by rule, cluster, not by cluster, rule, connection_id"]),
    ],
)
def test_clustering_is_compared(clustering: tuple[str, ...] | None, says: list[str]) -> None:
    spec = table_specs()["connection_violations"]
    columns = {one.name: "".join(one.type.split()) for one in spec.columns}
    checks_of_it = {f"delta.constraints.{name}": text for name, text in spec.constraints.items()}
    properties = {"delta.enableDeletionVectors": "false", **checks_of_it}
    assert differences(spec, TableLayout(columns, properties, clustering)) == says


def test_a_table_of_another_release_is_refused_with_its_first_difference() -> None:
    spec = table_specs()["connection_violations"]
    columns = {one.name: "".join(one.type.split()) for one in spec.columns}
    check_readable(spec, columns, "/lake/connection_violations")
    names = [one.name for one in spec.columns if one.required]
    for wrong in (names[:1], names[:4]):
        others = {name: stored for name, stored in columns.items() if name not in wrong}
        with pytest.raises(WarehouseError) as raised:
            check_readable(spec, others, "/lake/connection_violations")
        assert str(raised.value) == (
            f"/lake/connection_violations is not the table connection_violations of this release: column {names[0]} is missing; "
            "`kafka-clientinfo run` brings tables of an earlier release to this one; restore it if somebody altered it"
        )
