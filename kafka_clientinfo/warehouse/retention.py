"""Retention: requests and rejected records older than a number of days are deleted; rows derived from them stay.

One instant decides for all requests. A request is deleted if it was logged before the instant and does not
belong to a connection that had a request at the instant or later. So a connection's requests are deleted together or
not at all. Failed requests stay, as each is a finding by itself. Derived rows stay, until `retain_connections` deletes them by an earlier instant, and a build keeps the rows
of connections that ended before the instant, as their requests are gone. This works only if all of these requests are
gone, so a run reads no log with new records that begin before the instant (`ingestion.plan`, problem `late`).
"""

from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY, FILE_ORDER
from .staging import cache
from .state import LEDGER, time_text
from .warehouse import Warehouse

_OF_CONNECTIONS = ("connection_violations", "connection_groups", "api_usage")


def retain(tables: Warehouse, days: int, now: datetime) -> dict[str, int]:
    """Delete requests of connections that ended more than `days` days ago, and rejected records that are as old."""
    newest = tables.read(LEDGER).agg(F.max("ingested_at").alias("newest"))
    if newest.where(~F.col("newest").eqNullSafe(F.lit(tables.state.built_until))).first() is not None:
        raise WarehouseError(
            f"{tables.root} holds requests that no build has seen; run `kafka-clientinfo build` first, as retention "
            "deletes only what the other tables know"
        )
    # The instant never goes back, even if the days or the clock change.
    instant = now.astimezone(UTC) - timedelta(days=days)
    instant = max(instant, tables.state.retained_from or instant)
    tables.claim()  # from here on other runs commit nothing
    requests = cache(_old_requests(tables, instant).select("file_id", "byte_offset"), tables.staging)
    before = f"timestamp '{time_text(instant)}'"
    ended = tables.read(LEDGER).where(f"coalesce(last_logged_at, ingested_at) < {before}").select("file_id")
    deleted = {
        "requests": tables.delete_rows("requests", requests, f"t.logged_at < {before}"),
        "rejected_records": tables.delete_rows("rejected_records", ended),
    }
    if any(deleted.values()):
        state = tables.state
        tables.note(
            retained_from=instant,
            deleted={name: state.deleted.get(name, 0) + deleted.get(name, 0) for name in {**state.deleted, **deleted}},
            rows={name: number - deleted.get(name, 0) for name, number in state.rows.items()},
        )
    if tables.state.retained_from is not None:
        last = F.max_by("last_request_at", "session_no").alias("last")
        newest = tables.read("connections").groupBy(*CONNECTION_ID_KEY).agg(last)
        until = f"timestamp '{time_text(tables.state.retained_from)}'"
        tables.judged.delete(newest.where(f"last < {until}"))  # a run goes on with what is there
    return deleted


def retain_connections(tables: Warehouse, days: int, now: datetime) -> dict[str, int]:
    """Delete connections that ended before a day, `days` days ago, and what was counted of that time; return rows per table.

    Only connections go of which retention has deleted the requests, as no run computes these again. Ranges of APIs, names of
    topics and failed requests stay.
    """
    until = tables.state.retained_from
    if until is None:
        return {}
    instant = min(now.astimezone(UTC) - timedelta(days=days), until).replace(hour=0, minute=0, second=0, microsecond=0)
    instant = max(instant, tables.state.connections_from or instant)
    tables.note(connections_from=instant)
    at = F.lit(instant)
    ended = tables.read("connections").where(F.col("last_request_at") < at).select(*CONNECTION_KEY)
    sessions = tables.read("topic_mentions").where("session IS NOT NULL").groupBy("cluster", "broker", "session")
    over = sessions.agg(F.max("last_at").alias("last")).where(F.col("last") < at).drop("last")
    ended, over = (cache(rows, tables.staging) for rows in (ended, over))
    before = f"timestamp '{time_text(instant)}'"
    deleted = {
        name: tables.delete_rows(name, ended, f"t.opened_at < {before}")
        for name in (*_OF_CONNECTIONS, "connections")  # the connections last: no row names one that is gone
    }
    deleted["client_activity_parts"] = tables.delete("client_activity_parts", f"bucket < {before}")
    deleted["group_member_parts"] = tables.delete("group_member_parts", f"last_seen_at < {before}")
    used = tables.delete("topic_mentions", f"kind = 'use' AND day < date({before})")
    deleted["topic_mentions"] = used + tables.delete_rows("topic_mentions", over)
    tables.note(rows=tables.rows())
    return deleted


def _old_requests(tables: Warehouse, instant: datetime) -> DataFrame:
    order = F.struct(*FILE_ORDER).alias("file_order")
    files = F.broadcast(tables.read(LEDGER).select("file_id", order))
    position = F.struct("file_order", "byte_offset")
    of_id = Window.partitionBy(*CONNECTION_ID_KEY).orderBy("session_no")
    live = (
        tables.read("connections")
        .join(files, on="file_id", how="inner")
        .withColumns({"begin": position, "next_begin": F.lead(position).over(of_id)})
        .where(F.col("last_request_at") >= F.lit(instant))
        .select(*(F.col(name).alias(f"its_{name}") for name in CONNECTION_ID_KEY), "begin", "next_begin")
    )
    old = tables.read("requests").where(F.col("logged_at") < F.lit(instant)).join(files, on="file_id", how="inner")
    same = reduce(
        lambda condition, name: condition & (F.col(name) == F.col(f"its_{name}")), CONNECTION_ID_KEY, F.lit(True)
    )
    is_within = (position >= F.col("begin")) & (F.col("next_begin").isNull() | (position < F.col("next_begin")))
    return old.join(live, on=same & is_within, how="left_anti")
