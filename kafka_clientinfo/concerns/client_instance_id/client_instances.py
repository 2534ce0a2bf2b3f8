"""Client instances across connections, brokers and time, by any id that tells one process from another.

An id stands in request headers (KIP-1313), in telemetry bodies (KIP-714) or in heartbeats as a member id (KIP-848 and
its like). The same 128 bits are one instance whatever their encoding. Ids that differ are not joined: a client that
follows no convention has one row per id, and `other_ids` leads from one to the other.

KIP-1313 wants an id to be unique and to stay for a client's life. Three lists name the connections that speak against
it: the id is in use on another host, another client uses it, or its client connects anew with another one. A fourth
names connections of the client that carry none.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ...connections.facts import is_client
from ...connections.texts import (
    first_entries,
    looked_up,
    merged_texts,
    number_of_texts,
    sentence,
    sorted_texts,
    with_lists,
)
from ...protocol import UNKNOWN
from ...tables.spec import CONNECTION_KEY
from .lives import IN_TIME, lives, renewed, without_id
from .uuids import canonical

_KEY = ("cluster", "instance_id")
_WHO = ("principal", "remote_host", "client_id")
_COUNTS_ON = "apache-kafka-java "
"""Software that numbers its requests over all its connections."""


def transform(connections: DataFrame) -> DataFrame:
    """Makes one row per id that a client's connection carries."""
    carried = _carried(connections.where(is_client()))
    found = carried.withColumns({"met_host": _met_host(), "differs": _differs()})
    of_ids = lives(carried)
    of_clients = with_lists(_with_scenario(_by_instance(found), connections), renewed(of_ids), _KEY)
    return with_lists(of_clients, without_id(connections, of_ids), _KEY)


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
    one = (
        "last_request_at", "requests", "remote_host", "principal", "client_id", "software", "all_ids", "member_ids",
        "lowest_correlation_id", "highest_correlation_id", "telemetry_id_sent_first",
    )  # fmt: skip
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
    earlier = Window.partitionBy(*_KEY).orderBy(*IN_TIME).rowsBetween(Window.unboundedPreceding, -1)
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
    earlier = Window.partitionBy(*_KEY).orderBy(*IN_TIME).rowsBetween(Window.unboundedPreceding, -1)
    parts = []
    for name, value in named.items():
        first = F.first(value, ignorenulls=True).over(earlier)
        parts.append(F.when(value != first, sentence(name + " {value!r} after {first!r}", value=value, first=first)))
    return F.nullif(F.concat_ws(", ", *parts), F.lit(""))


def _connections_where(found: Column, *named: Column) -> Column:
    """The first connections of an instance of which something was found, with what was."""
    connection = F.struct("opened_at", "broker", "connection_id", "opened_seq", *named)
    return first_entries(F.when(found.isNotNull(), connection))


def _if_instance(found: str) -> Column:
    """What was found of an id in a header or a telemetry body; a member id alone is no client instance id."""
    return F.when(F.arrays_overlap("kinds", F.array(F.lit("header"), F.lit("telemetry"))), F.col(found))


def _by_instance(carried: DataFrame) -> DataFrame:
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
        sorted_texts(F.col("principal")).alias("principals"),
        sorted_texts(F.col("client_id")).alias("client_ids"),
        sorted_texts(F.col("software")).alias("software"),
        F.sum(F.col("changed").cast("int")).alias("changed_on_connections"),
        F.min(_rank()).alias("alignment"),
        merged_texts(F.filter("all_ids", lambda other: other != F.col("instance_id"))).alias("other_ids"),
        _scenario().alias("telemetry_scenario"),
        F.min(F.struct(*IN_TIME, *_WHO, _is_made_by_client().alias("is_made"))).alias("first"),
    )
    return by_instance.select(
        *(name for name in by_instance.columns if name != "alignment"),
        F.element_at(F.array(*map(F.lit, _ALIGNMENTS)), F.col("alignment")).alias("member_id_alignment"),
    )


def _scenario() -> Column:
    return (
        F.when(F.bool_or("in_header"), "UUID-H")
        .when(F.bool_or("assigned"), "UUID-B")
        .when(F.bool_or("requested"), "UUID-R")
    )


def _is_made_by_client() -> Column:
    """Tells whether a connection shows that its client made the id: the client had asked nobody for one before."""
    counts_on = F.col("software").startswith(_COUNTS_ON) & (F.col("lowest_correlation_id") == 0)
    return F.coalesce(F.col("requested") & F.col("telemetry_id_sent_first") & counts_on, F.lit(False))


def _with_scenario(by_instance: DataFrame, connections: DataFrame) -> DataFrame:
    """Adds what follows from the scenario.

    An id in a request is the client's own only if nobody can have given it: a broker gives one on any connection, which
    may be in no log. The id's first connection has to be the first that is known of such a client.
    """
    kind, by_name = F.col("telemetry_scenario"), {name: F.coalesce(name, F.lit("")) for name in _WHO}
    made = by_instance.where((kind == "UUID-R") & F.col("first.is_made")).select(*_KEY, "first.*")
    of_clients = made.select(*_KEY, F.col("opened_at").alias("made_at"), *(c.alias(n) for n, c in by_name.items()))
    opened = connections.where(is_client()).select("cluster", "opened_at", *(c.alias(n) for n, c in by_name.items()))
    met = opened.join(of_clients, on=["cluster", *_WHO], how="inner").groupBy(*_KEY)
    is_first = F.min("opened_at") == F.min("made_at")
    known = by_instance.join(met.agg(is_first.alias("is_first")), on=list(_KEY), how="left")
    is_certain = F.when(kind.isNotNull(), (kind != "UUID-R") | F.coalesce("is_first", F.lit(False)))
    either = F.when((kind == "UUID-R") & ~is_certain, "either")
    return known.select(
        *(name for name in known.columns if name not in ("first", "is_first")),
        is_certain.alias("scenario_certain"),
        F.coalesce(either, looked_up({"UUID-H": "new", "UUID-R": "new", "UUID-B": "old"}, kind)).alias("client_by_kip"),
        F.coalesce(either, looked_up({"UUID-H": "new", "UUID-R": "old", "UUID-B": "either"}, kind)).alias(
            "broker_by_kip"
        ),
    )


_ALIGNMENTS = ("aligned", "same_uuid_other_encoding", "different", "none")


def _rank() -> Column:
    return F.call_function("array_position", F.array(*map(F.lit, _ALIGNMENTS)), "alignment").cast("int")
