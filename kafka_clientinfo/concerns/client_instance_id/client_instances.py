"""Client instances across connections, brokers and time, by any id that tells one process from another.

An id stands in request headers (KIP-1313), in telemetry bodies (KIP-714) or in heartbeats as a member id (KIP-848 and
its like). The same 128 bits are one instance whatever their encoding. Ids that differ are not joined: a client that
follows no convention has one row per id, and `other_ids` leads from one to the other.

KIP-1313 wants an id to be unique and to stay for a client's life. Three lists name the connections that speak against
it: the id is in use on another host, another client uses it, or its client shows a new one with every connection.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ...connections.facts import is_client
from ...connections.texts import first_entries, looked_up, merged_texts, number_of_texts, sentence, sorted_texts
from ...protocol import UNKNOWN
from ...tables.spec import CONNECTION_KEY
from .uuids import canonical

_KEY = ("cluster", "instance_id")
_IN_TIME = ("opened_at", "last_request_at", "broker", "connection_id", "opened_seq")
_CLIENT = ("cluster", "principal", "remote_host", "client_id", "software", "is_header")
_CLOSE_SECONDS = 60


def transform(connections: DataFrame) -> DataFrame:
    """Makes one row per id that a client's connection carries."""
    carried = _carried(connections.where(is_client()))
    is_alone = F.count(F.lit(1)).over(Window.partitionBy(*_KEY)) == 1
    found = carried.withColumns({"met_host": _met_host(), "differs": _differs(), "is_alone": is_alone})
    return _by_instance(found.withColumn("previous", _previous_ids()))


_SINGLE_IDS = (
    ("header", "client_instance_id"),
    ("telemetry", "telemetry_request_id"),
    ("telemetry", "telemetry_response_id"),
)
_LISTED_IDS = (("header", "other_instance_ids"), ("member", "member_ids"))


def _carried(connections: DataFrame) -> DataFrame:
    """Makes one row per connection and id, with the kinds and encodings of the id there."""
    texts = [F.struct(F.lit(kind).alias("kind"), F.col(name).alias("text")) for kind, name in _SINGLE_IDS]
    lists = [F.transform(name, _with_kind(kind)) for kind, name in _LISTED_IDS]
    ids = F.filter(F.concat(F.array(*texts), *lists), lambda one: one["text"].isNotNull() & (one["text"] != ""))
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    exploded = (
        connections.withColumns({"software": software, "ids": ids})
        .withColumns({"all_ids": F.transform("ids", lambda one: canonical(one["text"])), "id": F.explode("ids")})
        .withColumn("instance_id", canonical(F.col("id.text")))
    )
    one = ("last_request_at", "requests", "start", "remote_host", "principal", "client_id", "software", "all_ids")
    return exploded.groupBy(*CONNECTION_KEY, "instance_id").agg(
        *(F.first(name).alias(name) for name in one),
        sorted_texts(F.col("id.kind")).alias("kinds"),
        sorted_texts(F.col("id.text")).alias("encodings"),
        F.bool_or(F.col("instance_id_different") > 0).alias("changed"),
        F.bool_or(_is_assigned()).alias("assigned"),
        F.bool_or(F.col("id.text") == F.col("telemetry_request_id")).alias("requested"),
        F.bool_or(F.col("id.text") == F.col("client_instance_id")).alias("is_header"),
        F.bool_or((F.col("id.kind") == "header") & (F.col("telemetry_scenario") == "UUID-H")).alias("in_header"),
        F.first("member_id_alignment").alias("alignment"),
    )


def _is_assigned() -> Column:
    """An answer to a request with the zero id; brokers also send back the id that a client sent (KIP-714 says zero)."""
    asked_for_one = F.coalesce(F.col("telemetry_scenario") == "UUID-B", F.lit(False))
    return asked_for_one & (F.col("id.text") == F.col("telemetry_response_id"))


def _with_kind(kind: str) -> Callable[[Column], Column]:
    return lambda text: F.struct(F.lit(kind).alias("kind"), text.alias("text"))


def _met_host() -> Column:
    """Another host, from which an earlier connection is still open when this one opens; null where there is none.

    To compare with the one that stays open longest is enough to find the first such pair: were an earlier one of a
    third host in the way, it would make a pair itself.
    """
    earlier = Window.partitionBy(*_KEY).orderBy(*_IN_TIME).rowsBetween(Window.unboundedPreceding, -1)
    longest = F.max(F.when(F.col("remote_host").isNotNull(), F.struct("last_request_at", "remote_host"))).over(earlier)
    overlap = (longest["last_request_at"] >= F.col("opened_at")) & (longest["remote_host"] != F.col("remote_host"))
    return F.when(overlap, longest["remote_host"])


def _differs() -> Column:
    """Says in words which of client id, principal and software are others than before; null where none is.

    An empty client id says nothing, as later ones may be left out (KIP-1313), nor does software that is not known.
    """
    software = F.when(F.col("software") != f"{UNKNOWN} {UNKNOWN}", F.col("software"))
    named = {
        "client id": F.when(F.col("client_id") != "", F.col("client_id")),
        "principal": F.col("principal"),
        "software": software,
    }
    earlier = Window.partitionBy(*_KEY).orderBy(*_IN_TIME).rowsBetween(Window.unboundedPreceding, -1)
    parts = []
    for name, value in named.items():
        first = F.first(value, ignorenulls=True).over(earlier)
        parts.append(F.when(value != first, sentence(name + " {value!r} after {first!r}", value=value, first=first)))
    return F.nullif(F.concat_ws(", ", *parts), F.lit(""))


def _previous_ids() -> Column:
    """The ids of the two connections before it, where a client shows a new id with each; null where it does not.

    Three ids in a row, each of no other connection, of one host, principal, client id and software, where each of the
    connections opened while the one before was open or within a minute. As many processes of one connection each look
    the same.
    """
    in_time = Window.partitionBy(*_CLIENT).orderBy(*_IN_TIME)
    last, second_last = (F.lag(F.struct("instance_id", "is_alone", "last_request_at"), n).over(in_time) for n in (1, 2))
    gap = F.unix_seconds("opened_at") - F.unix_seconds(last["last_request_at"])
    gap_before = F.lag(F.unix_seconds("opened_at")).over(in_time) - F.unix_seconds(second_last["last_request_at"])
    is_alone = F.col("is_header") & F.col("is_alone") & last["is_alone"] & second_last["is_alone"]
    is_close = (gap <= _CLOSE_SECONDS) & (gap_before <= _CLOSE_SECONDS)
    return F.when(is_alone & is_close, F.array(second_last["instance_id"], last["instance_id"]))


def _connections_where(found: Column, *named: Column) -> Column:
    """The first connections of an instance of which something was found, with what was."""
    connection = F.struct("opened_at", "broker", "connection_id", "opened_seq", *named)
    return first_entries(F.when(found.isNotNull(), connection))


def _if_instance(found: str) -> Column:
    """What was found of an id in a header or a telemetry body; a member id alone is no client instance id."""
    return F.when(F.arrays_overlap("kinds", F.array(F.lit("header"), F.lit("telemetry"))), F.col(found))


def _by_instance(carried: DataFrame) -> DataFrame:
    scenario = (
        F.when(F.bool_or("in_header"), "UUID-H")
        .when(F.bool_or("assigned"), "UUID-B")
        .when(F.bool_or("requested"), "UUID-R")
    )
    by_instance = carried.groupBy(*_KEY).agg(
        merged_texts(F.col("kinds")).alias("id_kinds"),
        merged_texts(F.col("encodings")).alias("encodings"),
        F.min("opened_at").alias("first_seen"),
        F.max("last_request_at").alias("last_seen"),
        F.count("*").alias("connections"),
        F.sum("requests").alias("requests"),
        sorted_texts(F.col("broker")).alias("brokers"),
        number_of_texts("remote_host").alias("host_count"),
        sorted_texts(F.col("remote_host")).alias("hosts"),
        F.bool_or(F.col("met_host").isNotNull()).alias("two_hosts_at_once"),
        _connections_where(_if_instance("met_host"), F.col("remote_host"), F.col("met_host").alias("other_host")).alias(
            "two_hosts_connections"
        ),
        _connections_where(_if_instance("differs"), F.col("differs")).alias("shared_connections"),
        _connections_where(F.col("previous"), F.col("previous").alias("previous_ids")).alias("renewed_connections"),
        sorted_texts(F.col("principal")).alias("principals"),
        sorted_texts(F.col("client_id")).alias("client_ids"),
        sorted_texts(F.col("software")).alias("software"),
        F.sum(F.col("changed").cast("int")).alias("changed_on_connections"),
        F.min(_rank()).alias("alignment"),
        merged_texts(F.col("all_ids"), 21).alias("all_ids"),
        scenario.alias("telemetry_scenario"),
        F.bool_and(F.col("start") != "before_log").alias("starts_seen"),
    )
    kind = F.col("telemetry_scenario")
    return by_instance.select(
        *(name for name in by_instance.columns if name not in ("alignment", "all_ids", "starts_seen")),
        F.slice(F.filter("all_ids", lambda other: other != F.col("instance_id")), 1, 20).alias("other_ids"),
        F.element_at(F.array(*map(F.lit, _ALIGNMENTS)), F.col("alignment")).alias("member_id_alignment"),
        F.when(kind == "UUID-R", F.col("starts_seen")).when(kind.isNotNull(), F.lit(True)).alias("scenario_certain"),
        looked_up({"UUID-H": "new", "UUID-R": "new", "UUID-B": "old"}, kind).alias("client_by_kip"),
        looked_up({"UUID-H": "new", "UUID-R": "old", "UUID-B": "either"}, kind).alias("broker_by_kip"),
    )


_ALIGNMENTS = ("aligned", "same_uuid_other_encoding", "different", "none")


def _rank() -> Column:
    return F.call_function("array_position", F.array(*map(F.lit, _ALIGNMENTS)), "alignment").cast("int")
