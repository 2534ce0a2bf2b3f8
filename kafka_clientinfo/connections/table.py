"""The table `connections`: one aggregation of the judged requests, one row per connection.

Columns that belong to no concern are made here: a connection's ends, its role, and whether the log shows its start.
"""

from collections.abc import Sequence
from graphlib import TopologicalSorter

from ..config.settings import Settings
from ..logs.apis import INTER_BROKER_APIS
from ..logs.connection import LONGEST
from ..protocol import UNKNOWN, ApiKey
from ..tables.spec import CONNECTION_KEY
from .boundaries import COMPARED_WITH_BEFORE, has_header_v3, is_masked
from .concern import OF_FIRST, Aggregates, Columns, Concern, is_api_versions
from .engine import Column, DataFrame, F
from .examples import source
from .texts import is_one_of

_SENDERS = "AddPartitionsManager|Persister|NetworkPartitionMetadataClient|ShareGroupDLQManager"
BROKER_CLIENT_ID = rf"\A(broker-\d+-.+|raft-client-\d+|({_SENDERS})-client-\d+|id_\d+-host_.*-port_\d+)\z"
"""Client ids of Kafka's own senders, which hardly anybody else uses; a client id alone does not prove a broker."""
NODE_ID = r"\A\d{1,10}\z"
"""A node's id, the client id of some senders between brokers and controllers. Clients may have numbers as ids too."""
_FIRST_BROKERS_VERSION = 4
"""The first version of ADD_PARTITIONS_TO_TXN that only brokers send, to verify transactions (KIP-890)."""
_BROKER_SOFTWARE = "apache-kafka-java"
_LOCAL_HOST = r"^(.+):\d+-.+:\d+(?:-\d+){0,2}$"
_PROCESSOR = r"^.+:\d+-.+:\d+-(\d{1,9})-\d+$"
_ANSWERED_MICROS = 1_000_000
"""Within this time a client has the answer to its first request, and sends the next one."""
OF_CONNECTION = (
    "principal", "client_id", "client_software_name", "client_software_version", "role", "remote_host", "listener",
    "api_versions_outcome",
)  # fmt: skip
"""Columns of a connection that the tables of its APIs and groups repeat, so that views need no join."""


def connections(
    judged_requests: DataFrame,
    settings: Settings,
    concerns: Sequence[Concern],
    stored_broker_hosts: DataFrame | None = None,
) -> DataFrame:
    """Aggregate judged requests to connections, with the columns of the concerns.

    `stored_broker_hosts` are the hosts (cluster, host) that other connections show to be brokers', if there are others.

    Returns:
        The columns of the table `connections`, and further columns that the concerns' rules and tables read.
    """
    aggregates = dict(_aggregates())
    for concern in concerns:
        aggregates |= concern.aggregates()
    grouped = judged_requests.groupBy(*CONNECTION_KEY)
    rows = grouped.agg(*(column.alias(name) for name, column in aggregates.items()))
    rows = _with_brokers_host(rows, judged_requests, stored_broker_hosts).withColumns(dict(_columns(settings)))
    by_name = {concern.name: concern for concern in concerns}
    for name in TopologicalSorter({name: concern.after for name, concern in by_name.items()}).static_order():
        if columns := dict(by_name[name].columns(settings)):
            rows = rows.withColumns(columns)
    return rows


def _with_brokers_host(rows: DataFrame, judged_requests: DataFrame, stored: DataFrame | None) -> DataFrame:
    sent = judged_requests.where(is_of_a_broker() & F.col("remote_host").isNotNull())
    hosts = sent.select("cluster", F.col("remote_host").alias("host"))
    hosts = (hosts if stored is None else hosts.unionByName(stored)).distinct()
    hosts = hosts.select(F.col("cluster").alias("its_cluster"), F.col("host").alias("its_host"))
    same = (F.col("cluster") == F.col("its_cluster")) & (F.col("first.remote_host") == F.col("its_host"))
    joined = rows.join(F.broadcast(hosts), on=[same], how="left")
    return joined.select(*rows.columns, F.col("its_host").isNotNull().alias("is_brokers_host"))


def _aggregates() -> Aggregates:
    is_brokers = is_of_a_broker()
    stated_client_id = F.when(F.col("client_id") != "", F.col("client_id"))
    return {
        "session_no": F.max("session_no"),
        "last_request_at": F.max("latest_at"),
        "requests": F.sum("requests"),
        "first": _first(F.struct(*OF_FIRST, "coverage", "heard_until", source().alias("source"))),
        "has_forwarded": F.bool_or("is_forwarded"),
        "has_inter_broker": F.bool_or(_is_inter_broker()),
        "broker_requests": F.sum(F.when(is_brokers, F.col("requests")).otherwise(0)),
        "first_broker_request_at": F.min(F.when(is_brokers, F.col("earliest_at"))),
        "last_broker_request_at": F.max(F.when(is_brokers, F.col("latest_at"))),
        "has_inter_broker_api": F.bool_or(_has_inter_broker_api()),
        "has_replica": F.bool_or(F.coalesce(F.col("replica_id") >= 0, F.lit(False))),
        "has_other_software": F.bool_or(_is_other_software()),
        "asks_for_more_than_versions": F.bool_or(~is_api_versions()),
        "ids_rise": F.max("highest_correlation_id") > 0,
        "has_several_client_ids": F.min(stated_client_id) != F.max(stated_client_id),
        **{name: F.bool_or(name) for name in COMPARED_WITH_BEFORE},
    }


def _columns(settings: Settings) -> Columns:
    first = ("file_id", "byte_offset", "remote_host", "remote_port", "listener", "security_protocol", "principal")
    has_processor = (F.col("first.log_generation") == "json") & (processor_text() != "")
    return {
        "start": _start(),
        "role": _role(settings),
        **{name: F.col(f"first.{name}") for name in (*first, "log_generation")},
        "network_processor": F.when(has_processor, processor_text().cast("int")),
    }


def shown_as_brokers(connections: DataFrame, new_requests: DataFrame) -> DataFrame:
    """Find the connection ids (cluster, broker, connection_id) of clients that new requests show to be a broker's.

    They have a broker's client id, and come from a host that sends a broker's requests.
    """
    hosts = new_requests.where(may_be_of_a_broker()).select("cluster", "remote_host").distinct()
    named = connections.where(is_client() & has_broker_name(F.col("client_id")))
    from_brokers = named.join(F.broadcast(hosts), on=["cluster", "remote_host"], how="left_semi")
    return from_brokers.select("cluster", "broker", "connection_id").distinct()


def is_client() -> Column:
    """Return whether a connection is a client's: neither a broker's nor one with forwarded requests."""
    return F.col("role") == "client"


def is_exempt(settings: Settings) -> Column:
    """Return whether the policy exempts a connection's listener."""
    return is_one_of(F.col("listener"), settings.policy.exempt_listeners)


def has_broker_name(client_id: Column) -> Column:
    """Return whether a client id looks like those of Kafka's own senders."""
    return F.coalesce(client_id.rlike(BROKER_CLIENT_ID), F.lit(False))


def _has_node_id(client_id: Column) -> Column:
    return F.coalesce(client_id.rlike(NODE_ID), F.lit(False))


def _first(value: Column) -> Column:
    """Return a value of the first request, by collect_list: for min_by Spark would copy the struct at every request."""
    return F.get(F.collect_list(F.when(F.col("seq") == 0, value)), F.lit(0))


def is_of_a_broker() -> Column:
    """Return whether a judged request shows that a broker or a controller sent it."""
    return _is_sent_by_broker(_is_inter_broker())


def may_be_of_a_broker() -> Column:
    """Return whether a request may show that a broker or a controller sent it: the first one of its connection may say more."""
    left_out = _is_unnamed() & has_header_v3()
    names = F.when(left_out, F.lit("0")).otherwise(F.col("client_id"))  # as if it were a node's id
    marks = F.col("api_key").isin(int(ApiKey.WRITE_TXN_MARKERS), int(ApiKey.ADD_PARTITIONS_TO_TXN))
    return _is_sent_by_broker(_is_inter_broker(names) | (left_out & marks))


def _is_sent_by_broker(is_inter_broker: Column) -> Column:
    is_replica = F.coalesce(F.col("replica_id") >= 0, F.lit(False))
    return ~F.col("is_forwarded") & (is_inter_broker | is_replica)


def _is_unnamed() -> Column:
    return F.coalesce(F.col("client_id"), F.lit("")) == ""


def _is_inter_broker(client_id: Column | None = None) -> Column:
    """Return whether a request is one that brokers send to each other, with a broker's client id or none, by no other software.

    With header v3 a request without a client id has that of its connection's first one (KIP-1313), which is taken if no
    client id is given; it is not known if the log lacks that one.
    """
    if client_id is None:
        client_id = F.when(_is_unnamed() & has_header_v3(), F.col("first_client_id")).otherwise(F.col("client_id"))
    unnamed = F.coalesce(client_id, F.lit("")) == ""
    verifies = (F.col("api_key") == int(ApiKey.ADD_PARTITIONS_TO_TXN)) & (
        F.col("api_version") >= _FIRST_BROKERS_VERSION
    )
    by_api = _has_inter_broker_api() & (unnamed | has_broker_name(client_id) | _has_node_id(client_id))
    marks = F.col("api_key") == int(ApiKey.WRITE_TXN_MARKERS)
    is_broker = by_api | ((verifies | marks) & has_broker_name(client_id))
    return is_broker & ~_is_other(F.col("client_software_name"))


def _has_inter_broker_api() -> Column:
    return F.col("api_key").isin(*INTER_BROKER_APIS)


def _is_other_software() -> Column:
    return ~F.col("is_forwarded") & _is_other(F.coalesce("sent_software_name", "client_software_name"))


def _is_other(software_name: Column) -> Column:
    return ~F.coalesce(software_name, F.lit(UNKNOWN)).isin(UNKNOWN, _BROKER_SOFTWARE)


def _role(settings: Settings) -> Column:
    """Return the role, from what a connection does.

    A broker's client id counts only if the connection comes from a broker's host (this broker's, or one in
    broker_hosts). On a controller's listener it counts by itself, and so does a node's id if nothing but versions is asked
    for: clients, which may have numbers as ids, connect to that listener too: tools that KIP-919 allows, and programs with the
    controller's port in their bootstrap address.
    """
    client_id = F.col("first.client_id")
    own_host = F.regexp_extract(_connection_id(), _LOCAL_HOST, 1) == F.col("first.remote_host")
    by_name = has_broker_name(client_id) & ~F.col("has_other_software")
    by_number = _has_node_id(client_id) & ~F.col("has_other_software") & ~F.col("asks_for_more_than_versions")
    on_controller = is_one_of(F.col("first.listener"), settings.controller_listeners)
    of_controller = on_controller & (F.col("has_inter_broker_api") | by_name | by_number)
    from_broker = F.coalesce(own_host, F.lit(False)) | F.col("is_brokers_host")
    is_broker = F.col("has_inter_broker") | F.col("has_replica") | of_controller | (from_broker & by_name)
    return F.when(F.col("has_forwarded"), "forwarding").when(is_broker, "broker").otherwise("client")


def is_watched() -> Column:
    """Return whether the log evidently held every request at the time of a connection's first one.

    A log without any ApiVersions request may be filtered, unless its records show software names and no client stated
    one: then all clients there are such that send no ApiVersions.
    """
    at_debug = (F.col("first.log_level") != "INFO") | F.col("first.coverage.since").isNotNull()
    shows_names = F.col("first.client_software_name").isNotNull()
    return at_debug & F.coalesce(F.col("first.coverage.is_complete"), shows_names)


def _start() -> Column:
    """Return whether the first logged request is really the connection's first; INFO logs mostly can't show that.

    A record states the software name as it was before the request, so a known name shows that ApiVersions came earlier.
    """
    unnamed = F.coalesce(F.col("first.client_software_name"), F.lit(UNKNOWN)) == UNKNOWN
    named_before = ~unnamed & ~F.col("has_forwarded")
    handshake = is_api_versions("first.api_key") & unnamed
    evidence = handshake | is_covered() | _counts_from_start()
    # At DEBUG, a single request with 0 may be of a client that always sends 0, and the log lacks its other requests.
    may_count = F.col("ids_rise") | (F.col("first.log_level") == "INFO")
    begins_at_0 = (F.col("first.correlation_id") == 0) & ~F.col("repeats") & may_count
    certain = F.when(is_watched(), evidence).otherwise(begins_at_0)
    sasl = F.coalesce(F.col("first.security_protocol").startswith("SASL"), F.lit(False))
    is_seen = certain & ~named_before & ~is_masked()
    return F.when(sasl & ~is_masked(), "hidden_by_sasl").when(is_seen, "observed").otherwise("before_log")


def is_covered() -> Column:
    """Return whether the log would show an earlier request of the connection, if there had been one.

    It would if the connection opened
    1. after the start of the broker; or
    2. after a request of an earlier connection of the id, in the same period of the log; or
    3. later in the period than connections.max.idle.ms, because an open connection would have sent something by then.

    2 and 3 need a complete log, so missing correlation ids on the connection rule them out. 3 also needs a broker that
    keeps its limit, so a longer silence on the connection rules it out.
    """
    coverage = {name: F.col(f"first.coverage.{name}") for name in ("since", "started_at", "max_idle_ms")}
    after_earlier = F.col("first.heard_until") >= coverage["since"]
    age = F.unix_micros("opened_at") - F.unix_micros(coverage["since"])
    after_idle_limit = (age >= coverage["max_idle_ms"] * 1000) & ~F.col("outlasts")
    since_start = F.coalesce(F.col("opened_at") >= coverage["started_at"], F.lit(False))
    in_period = F.coalesce(after_earlier, F.lit(False)) | F.coalesce(after_idle_limit, F.lit(False))
    return since_start | (in_period & ~F.col("jumps"))


def _counts_from_start() -> Column:
    """Return whether correlation ids begin at 0 or 1.

    Some clients always send 0, and the log may lack the request before 1; evidence of either makes the result false. So
    does a log that begins just then, as it may lack ApiVersions with 0, which brokers before 0.10 do not have.
    """
    age = F.unix_micros("opened_at") - F.unix_micros("first.coverage.since")
    is_cut = F.coalesce(age < _ANSWERED_MICROS, F.lit(False)) & (F.col("first.log_generation") != "name_text")
    begins_at_1 = (F.col("first.correlation_id") == 1) & ~F.col("jumps") & ~F.col("outlasts") & ~is_cut
    return ((F.col("first.correlation_id") == 0) | begins_at_1) & ~F.col("repeats")


def _connection_id() -> Column:
    """Return the beginning of a connection id, in which patterns look for a host; a longer id has none."""
    return F.substring("connection_id", 1, LONGEST)


def processor_text() -> Column:
    """Return the network processor's number in a connection id, which 4.0 and later write; else an empty text."""
    return F.regexp_extract(_connection_id(), _PROCESSOR, 1)


def with_connection_columns(rows: DataFrame, connections: DataFrame) -> DataFrame:
    """Add `OF_CONNECTION` to rows with a connection's key."""
    return rows.join(connections.select(*CONNECTION_KEY, *OF_CONNECTION), on=list(CONNECTION_KEY), how="inner")


def only_of_clients(columns: Columns) -> Columns:
    """Make columns null for connections that are not a client's."""
    return {name: F.when(is_client(), column) for name, column in columns.items()}
