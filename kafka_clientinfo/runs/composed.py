"""The rules without a warehouse: tables and views derived of any relation of requests, such as one's own bronze table."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from ..config.settings import Settings
from ..coverage.periods import periods_of, with_log_coverage
from ..errors import ConfigError
from ..ingestion.stored_requests import files_of
from ..questions.queries import bind
from ..spark.arrow_rows import collect_by_name, relation_of
from ..spark.features import checkpointed
from ..spark.session_conf import REQUEST_BYTES, sized
from ..tables.spec import RUN, table_spec, table_specs
from ..tables.views import SPARK, ViewSettings, definition, is_view, query_of, stored_tables
from ..warehouse.ddl import no_rows
from ..warehouse.replacement import shaped
from ..warehouse.state import LEDGER
from .bronze import check_columns
from .ingest import ledger_of
from .steps import ROWS, given, make_all, read_by_others, steps

_OF_LOGS = frozenset({"topic_mentions", "rejected_records"})
"""Tables that only the reading of logs can fill: requests do not hold what they are made of."""


def sessions(settings: Settings | None = None, files: DataFrame | None = None) -> Callable[[DataFrame], DataFrame]:
    """Return a transform of requests to the rows of `connections`, `requests.transform(sessions())`; arguments as for `derive`."""
    return lambda requests: derive(requests, "connections", files, settings)["connections"]


def derive(
    requests: DataFrame,
    names: str | Iterable[str],
    files: DataFrame | None = None,
    settings: Settings | None = None,
    failed_requests: DataFrame | None = None,
) -> dict[str, DataFrame]:
    """Derive tables and views of requests, as `run` does; nothing is stored.

    Tables that several of them need are computed at once, and cached until nothing refers to them. Meanwhile the session's
    conf is that of a run: its rows are the caller's, so it cannot be another session.

    Args:
        requests: rows of the table `requests`, as the data source `kafka_request_log` gives them; all of each connection
            id. Other columns, as `path`, do no harm.
        names: tables and views, as `connections` and `who_connects`; one alone, or several.
        files: rows of `ingested_files` for these requests; None infers them of the requests. Then the broker's own log is
            not known: its starts, unless requests show them, and its limit for idle connections.
        settings: of the rules; defaults when None.
        failed_requests: rows of `failed_requests`, for `violations` and `persistent_errors`; none when None.

    Returns:
        A relation per name, with the columns of docs/reference/tables.md.

    Raises:
        ConfigError: a name is none of a derived table or view, or needs what only logs hold; or the session can cache
            nothing.
        InputError: requests lack columns.
    """
    names = [names] if isinstance(names, str) else list(names)
    spark, settings = requests.sparkSession, settings or Settings()
    _check(names)
    check_columns(requests.columns, "the relation of requests")
    with sized(spark, 0):
        rows = files_of(requests) if files is None else collect_by_name(files)
    with sized(spark, sum(row["requests"] for row in rows) * REQUEST_BYTES):
        by_id = with_log_coverage(rows, settings, [row["file_id"] for row in rows])
        failed = spark.sql(no_rows(table_spec("failed_requests"))) if failed_requests is None else failed_requests
        stored = {LEDGER: ledger_of(spark, by_id.values()), "failed_requests": failed}
        tables = {table for name in names for table in stored_tables(name)}
        wanted = steps().keys() & tables
        read = read_by_others() | (set() if table_specs().keys() >= {*names} else tables)
        made = given(requests, periods_of(by_id.values(), settings), settings, partial(relation_of, spark))
        make_all(wanted, made, lambda name, rows: _cached(rows) if name in read else rows)
        made |= {name: relation_of(spark, ROWS[name](), table_spec(name).ddl) for name in ROWS.keys() & tables}
        return _answers(names, made | stored, settings)


def _check(names: Iterable[str]) -> None:
    for name in names:
        tables = stored_tables(name)
        if not tables or name in ("requests", LEDGER) or not _OF_LOGS.isdisjoint(tables):
            derived = ", ".join(sorted(steps().keys() & table_specs().keys()))
            raise ConfigError(f"{name!r} is not derived of requests alone; give views of them, or some of {derived}")


def _cached(rows: DataFrame) -> DataFrame:
    cached = checkpointed(rows)
    if cached is None:  # to plan all steps at once would make plans of millions of nodes
        raise ConfigError("this session can cache no rows (serverless compute); use `build` with a warehouse there")
    return cached


def _answers(names: Iterable[str], tables: Mapping[str, Any], settings: Settings) -> dict[str, DataFrame]:
    view_settings = ViewSettings.of(settings)

    def relation(name: str) -> str:
        return f"(\n{definition(name, SPARK, view_settings, relation)}\n)" if is_view(name) else f"\0{name}\0"

    def answer(name: str) -> Any:
        if name in table_specs():
            return shaped(tables[name], table_spec(name), RUN)
        query, _ = bind(query_of(name), None, relation)
        # PySpark puts relations in the place of names in braces; the query's own are those of regular expressions.
        query = query.replace("{", "{{").replace("}", "}}")
        return tables["requests"].sparkSession.sql(re.sub("\0(.+?)\0", r"{\1}", query), **tables)

    return {name: answer(name) for name in names}
