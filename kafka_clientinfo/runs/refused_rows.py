"""Finds the rows that a constraint of their table refuses, and the log records from which they come.

Every column is made so that no logged value violates a constraint. If one does so all the same, the run must go on with
the tables that do not depend on it, and the error must lead to the record.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..connections.request_columns import GROUP_APIS
from ..connections.texts import body_text
from ..errors import WarehouseError
from ..spark.failures import full_text
from ..tables.spec import CONNECTION_KEY, TableSpec
from ..warehouse import replacement

_SIGNS = ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES")
"""Delta's errors for a row that NOT NULL or CHECK refuses."""
_OF_REQUEST = ("api_key", "api_version", "header_version")
"""Columns of keys that distinguish the requests of a connection."""
_LONGEST = 200
_REPORT = "that is a fault of this release: report it with the record"


class RefusedRowsError(WarehouseError):
    """A constraint refuses a row of a table.

    Attributes:
        table: name of the table, which is unchanged.
    """

    def __init__(self, table: str, reason: str) -> None:
        self.table = table
        super().__init__(reason)


def is_refusal(error: BaseException) -> bool:
    """Return whether a write failed because of a constraint."""
    text = full_text(error)
    return any(sign in text for sign in _SIGNS)


def describe(rows: DataFrame, spec: TableSpec, whole: Callable[[str], DataFrame], judged: DataFrame) -> str:
    """Return a text with the constraint that refuses a row, the row's key, and the record from which it comes.

    Args:
        rows: the rows to write.
        spec: declaration of the table.
        whole: returns a whole table by its name.
        judged: the judged requests of this run.
    """
    conditions = {
        f"column {column.name} is null": F.col(column.name).isNull() for column in spec.columns if column.required
    }
    conditions |= {
        f"CHECK {name} fails ({check})": ~F.coalesce(F.expr(check), F.lit(False)) for name, check in spec.checks
    }
    broken = F.array_compact(F.array(*(F.when(condition, F.lit(words)) for words, condition in conditions.items())))
    shaped = replacement.shaped(rows, spec)
    refused = shaped.select(broken.alias("broken"), F.struct(*spec.key).alias("key")).where(F.size("broken") > 0).head()
    if refused is None:  # for example, a row of an earlier run that is written again
        return "a constraint refuses a row"
    key = refused["key"].asDict()
    position = _position(key, whole, judged)
    record = "" if position is None else f", of the record at byte {position[1]} of {position[0]}"
    return f"{refused['broken'][0]} in the row of {_shown(key)}{record}"


def _shown(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {str(value)[:_LONGEST]!r}" for name, value in key.items() if value is not None)


def left_out(refusals: Iterable[RefusedRowsError], tables: Iterable[str]) -> WarehouseError:
    """Make the error of a run that left out tables: those with refused rows, and those that need one of them."""
    reasons = {refusal.table: str(refusal) for refusal in refusals}
    others = [name for name in tables if name not in reasons]
    texts = [f"{name} is not written: {reason}" for name, reason in sorted(reasons.items())]
    if others:
        texts.append(f"not written either, as they need it: {', '.join(others)}")
    return WarehouseError(
        "; ".join([*texts, "all other tables are written, and the next run tries again", _REPORT]),
    )


def _position(key: Mapping[str, Any], whole: Callable[[str], DataFrame], judged: DataFrame) -> tuple[str, int] | None:
    """Return path and offset of the first request that may have made the row; if none has, of its connections' first
    one.

    None if the key leads to no connection.
    """
    connections = _connections(key, whole)
    if connections is None:
        return None
    if key.get("opened_at") is None:
        requests = judged.join(connections.select(*CONNECTION_KEY), list(CONNECTION_KEY), "left_semi")
    else:  # the table of connections may have refused this one
        requests = judged.where(_has_values(key, *CONNECTION_KEY))
    for relation in (requests.where(_may_make_row(key)), connections):
        row = relation.orderBy("file_id", "byte_offset").select("file_id", "byte_offset").head()
        if row is not None:
            path = whole("ingested_files").where(F.col("file_id") == row["file_id"]).select("path").head()
            return None if path is None else (path["path"], row["byte_offset"])
    return None


def _connections(key: Mapping[str, Any], whole: Callable[[str], DataFrame]) -> DataFrame | None:
    """Return the connections that a key names, by its group or its values; None if it has no value but the cluster."""
    connections = whole("connections")
    # In violations a null means that the value is not known; in the key of a client it is a value.
    unknown = {name for name in CONNECTION_KEY if key.get(name) is None}
    known = [name for name in key if name in connections.columns and name not in unknown]
    if key.get("group_id") is not None and key.get("connection_id") is None:
        of_group = whole("connection_groups").where(_has_values(key, "cluster", "group_id"))
        return connections.join(of_group, list(CONNECTION_KEY), "left_semi")
    return None if known in ([], ["cluster"]) else connections.where(_has_values(key, *known))


def _has_values(key: Mapping[str, Any], *names: str) -> Column:
    return reduce(and_, (F.col(name).eqNullSafe(F.lit(key[name])) for name in names), F.lit(True))


def _may_make_row(key: Mapping[str, Any]) -> Column:
    """Return whether a row may be made from a request of its connection.

    The key's API and versions agree; a group's id is in the request, or anywhere in the response.
    """
    condition = _has_values(key, *(name for name in _OF_REQUEST if name in key))
    if key.get("group_id") is None:
        return condition
    group = F.lit(key["group_id"])
    names_it = (body_text("request", "groupId") == group) | F.coalesce(F.col("response").contains(group), F.lit(False))
    return condition & F.col("api_key").isin(*map(int, GROUP_APIS)) & F.coalesce(names_it, F.lit(False))
