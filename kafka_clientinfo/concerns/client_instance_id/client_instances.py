"""The table `client_instances`: client processes across connections, brokers and time, one row per id.

An id comes from request headers (KIP-1313), telemetry bodies (KIP-714) or heartbeats, as a member id (KIP-848 and later
group protocols). The same 128 bits are one instance in any encoding. Different ids are never merged: a client that
follows no convention has one row per id, and `other_ids` refers from one to the others.

By KIP-1313 an id must be unique and stay the same for a client's life. Four lists hold connections that contradict it:

    column                    | on these connections
    --------------------------|---------------------------------------------------------
    two_hosts_connections     | the id is in use on another host at the same time
    shared_connections        | another client uses the id
    renewed_connections       | the client of an earlier id first shows this one
    connections_without_id    | the client sends no id, while it has one on another connection
"""

from collections.abc import Callable

from ...connections.engine import Column, DataFrame, F, Window
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
"""Software that counts correlation ids over all its connections."""


def transform(connections: DataFrame) -> DataFrame:
    """Return one row per id that clients' connections carry."""
    carried = _carried(connections.where(is_client()))
    compared = carried.withColumns({"met_host": _met_host(), "differs": _differs()})
    of_ids = lives(carried)
    of_clients = with_lists(_with_scenario(_by_instance(compared), connections), renewed(of_ids), _KEY)
    return with_lists(of_clients, without_id(connections, of_ids), _KEY)


_SINGLE_IDS = (
    ("header", "client_instance_id"),
    ("telemetry", "telemetry_request_id"),
    ("telemetry", "telemetry_response_id"),
)
_LISTED_IDS = (("header", "other_instance_ids"), ("member", "member_ids"))


def _carried(connections: DataFrame) -> DataFrame:
    """Return one row per connection and id, with the id's kinds and encodings on that connection."""
    texts = [F.struct(F.lit(kind).alias("kind"), F.col(name).alias("text")) for kind, name in _SINGLE_IDS]
    lists = [F.transform(name, _with_kind(kind)) for kind, name in _LISTED_IDS]
    ids = F.filter(F.concat(F.array(*texts), *lists), lambda entry: entry["text"].isNotNull() & (entry["text"] != ""))
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    exploded = (
        connections.withColumns({"software": software, "ids": ids})
        .withColumns({"all_ids": F.transform("ids", lambda entry: canonical(entry["text"])), "id": F.explode("ids")})
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
    """Return whether the broker assigned the id, in a response to the zero id.

    Brokers also return the id that a client sent, where KIP-714 wants zero.
    """
    asked_for_one = F.coalesce(F.col("telemetry_scenario") == "UUID-B", F.lit(False))
    return asked_for_one & (F.col("id.text") == F.col("telemetry_response_id"))


def _with_kind(kind: str) -> Callable[[Column], Column]:
    return lambda text: F.struct(F.lit(kind).alias("kind"), text.alias("text"))


def _met_host() -> Column:
    """Return another host with an earlier connection that is still open when this one opens; null if there is none.

    Checking the connection that stays open longest is enough: any overlap that it hides was reported earlier.
    """
    earlier = Window.partitionBy(*_KEY).orderBy(*IN_TIME).rowsBetween(Window.unboundedPreceding, -1)
    longest = F.max(F.when(F.col("remote_host").isNotNull(), F.struct("last_request_at", "remote_host"))).over(earlier)
    overlap = (longest["last_request_at"] >= F.col("opened_at")) & (longest["remote_host"] != F.col("remote_host"))
    return F.when(overlap, longest["remote_host"])


def _differs() -> Column:
    """Return a text of how client id, principal and software differ from the first ones; null if none does.

    An empty client id is no difference, because clients may leave it out (KIP-1313), and neither is unknown software.
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
    text = F.concat_ws(", ", *parts)
    return F.when(text != "", text)


def _connections_where(finding: Column, *details: Column) -> Column:
    """Aggregate the first connections of an instance for which a finding is not null, with its details."""
    connection = F.struct("opened_at", "broker", "connection_id", "opened_seq", *details)
    return first_entries(F.when(finding.isNotNull(), connection))


def _if_instance(finding: str) -> Column:
    """Return a finding if its id comes from a header or telemetry: a member id alone is no client instance id."""
    return F.when(F.arrays_overlap("kinds", F.array(F.lit("header"), F.lit("telemetry"))), F.col(finding))


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
    """Return whether a connection shows that its client made the id, because it can't have asked a broker before."""
    counts_on = F.col("software").startswith(_COUNTS_ON) & (F.col("lowest_correlation_id") == 0)
    return F.coalesce(F.col("requested") & F.col("telemetry_id_sent_first") & counts_on, F.lit(False))


def _with_scenario(by_instance: DataFrame, connections: DataFrame) -> DataFrame:
    """Add whether the telemetry scenario is certain, and which client and broker it implies (KIP-1313).

    An id in a telemetry request is certainly made by the client only if no broker can have assigned it. A broker could
    have done so on a connection that no log shows, so the id's first connection must be the first known of that client.
    """
    kind, by_name = F.col("telemetry_scenario"), {name: F.coalesce(name, F.lit("")) for name in _WHO}
    made = by_instance.where((kind == "UUID-R") & F.col("first.is_made")).select(*_KEY, "first.*")
    of_clients = made.select(*_KEY, F.col("opened_at").alias("made_at"), *(c.alias(n) for n, c in by_name.items()))
    opened = connections.where(is_client()).select("cluster", "opened_at", *(c.alias(n) for n, c in by_name.items()))
    met = opened.join(of_clients, on=["cluster", *_WHO], how="inner").groupBy(*_KEY)
    is_first = F.min("opened_at") == F.min("made_at")
    with_first = by_instance.join(met.agg(is_first.alias("is_first")), on=list(_KEY), how="left")
    is_certain = F.when(kind.isNotNull(), (kind != "UUID-R") | F.coalesce("is_first", F.lit(False)))
    either = F.when((kind == "UUID-R") & ~is_certain, "either")
    return with_first.select(
        *(name for name in with_first.columns if name not in ("first", "is_first")),
        is_certain.alias("scenario_certain"),
        F.coalesce(either, looked_up({"UUID-H": "new", "UUID-R": "new", "UUID-B": "old"}, kind)).alias("client_by_kip"),
        F.coalesce(either, looked_up({"UUID-H": "new", "UUID-R": "old", "UUID-B": "either"}, kind)).alias(
            "broker_by_kip"
        ),
    )


_ALIGNMENTS = ("aligned", "same_uuid_other_encoding", "different", "none")


def _rank() -> Column:
    return F.call_function("array_position", F.array(*map(F.lit, _ALIGNMENTS)), "alignment").cast("int")
