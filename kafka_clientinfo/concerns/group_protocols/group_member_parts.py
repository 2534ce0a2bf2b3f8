"""The table `group_member_parts`: what the requests of groups say of each member in each generation.

A request makes one row for its sender, and more for the members that it names:

    request and answer                               | rows
    -------------------------------------------------|---------------------------------------------------------
    JoinGroup, accepted                              | the member joined; if it leads, all members are listed
    JoinGroup, MEMBER_ID_REQUIRED (KIP-394)          | the member was given its id
    SyncGroup, Heartbeat, accepted                   | the member was seen in the generation that it names
    SyncGroup, Heartbeat, REBALANCE_IN_PROGRESS      | it was seen, and learnt of the next generation
    LeaveGroup, accepted                             | each member that it names left
    heartbeat of KIP-848, accepted                   | the member has the epoch of the answer, or has left (epoch -1)

Other answers change no membership. At INFO brokers log only deprecated versions, so that members would be missing;
such records are left out, as are copies of records and forwarded requests.
"""

from ...connections.concern import HEARTBEATS
from ...connections.engine import Column, DataFrame, F
from ...connections.texts import flattened, looked_up, total, unnamed_connection
from ...protocol import ApiKey, ErrorCode
from .group_messages import JOIN, SYNC, stated_topics, unless_empty

_LEAVE, _BEAT = int(ApiKey.LEAVE_GROUP), int(ApiKey.HEARTBEAT)
_KEY = ("cluster", "broker", "group_id", "protocol", "member_id", "group_instance_id", "generation", "left_at")
_LEAVING = "array<struct<memberId:string,groupInstanceId:string{more}>>"
_REQUEST = f"""groupId string, memberId string, groupInstanceId string, instanceId string, generationId int,
    memberEpoch int, reason string, protocols array<struct<name:string>>, subscribedTopicNames array<string>,
    subscribedTopicRegex string, topology struct<subtopologies:array<struct<sourceTopics:array<string>>>>,
    members {_LEAVING.format(more=",reason:string")}"""
_RESPONSE = f"""memberId string, generationId int, memberEpoch int, leader string, heartbeatIntervalMs int,
    members {_LEAVING.format(more=",errorCode:int")}"""
_SUBSCRIPTIONS = """subscriptions array<struct<memberId:string,topics:array<string>,
    ownedPartitions:array<struct<topic:string,partitions:array<int>>>>>"""
_FORMATS_WITHOUT_ANSWERS = ("name_text", "api_key_struct")
_CLIENT = ("client_id", "principal", "remote_host", "client_software_name", "client_software_version")


def transform(new_requests: DataFrame) -> DataFrame:
    """Return one row per group, generation, member and time of leaving."""
    events = _events(_messages(new_requests))
    is_own = F.col("kind") != "listed"
    return events.groupBy(*_KEY).agg(
        F.min(F.when(F.col("kind") == "joined", _join())).alias("joined"),
        F.min(F.when(F.col("kind") == "left", F.struct("started_at", "reason"))).alias("leaving"),
        F.min(_at("given")).alias("id_given_at"),
        F.min(_at("listed")).alias("listed_at"),
        F.min(F.when((F.col("api_key") == SYNC) & F.col("is_taken"), F.col("logged_at"))).alias("synced_at"),
        F.min(F.when(F.col("is_notified"), F.col("logged_at"))).alias("rebalance_seen_at"),
        F.min(_stated()).alias("first_stated"),
        F.max(_stated()).alias("last_stated"),
        F.max("heartbeat_interval_ms").alias("heartbeat_interval_ms"),
        F.min("logged_at").alias("first_seen_at"),
        F.max("logged_at").alias("last_seen_at"),
        F.max(F.when(is_own, F.struct("logged_at", *(_text(name) for name in _CLIENT)))).alias("client"),
        F.max(F.when(is_own & F.col("connection_id").isNotNull(), F.struct("logged_at", "connection_id"))).alias(
            "client_connection"
        ),
        F.max("ingested_at").alias("ingested_at"),
    )


def _text(name: str) -> Column:
    """Return a text, empty if it is null: engines order nulls in structs differently."""
    return F.coalesce(name, F.lit("")).alias(name.rsplit(".", 1)[-1])


def _at(kind: str) -> Column:
    return F.when(F.col("kind") == kind, F.col("logged_at"))


def _messages(requests: DataFrame) -> DataFrame:
    keys = (JOIN, SYNC, _BEAT, _LEAVE, *map(int, HEARTBEATS))
    is_counted = ~F.col("is_duplicate") & ~F.col("is_forwarded") & (F.col("log_level") != "INFO")
    error = F.col("error_code")
    is_taken = F.coalesce(error == int(ErrorCode.NONE), F.col("log_generation").isin(*_FORMATS_WITHOUT_ANSWERS))
    is_notified = F.col("api_key").isin(SYNC, _BEAT) & (error == int(ErrorCode.REBALANCE_IN_PROGRESS))
    is_given = (F.col("api_key") == JOIN) & (error == int(ErrorCode.MEMBER_ID_REQUIRED))
    chosen = requests.where(F.col("api_key").isin(*keys) & F.col("request").isNotNull() & is_counted)
    parsed = chosen.select(
        "cluster", "broker", "api_key", "logged_at", "started_at", "ingested_at", *_CLIENT,
        unnamed_connection().alias("connection_id"),
        is_taken.alias("is_taken"),
        F.coalesce(is_notified, F.lit(False)).alias("is_notified"),
        F.coalesce(is_given, F.lit(False)).alias("is_given"),
        F.coalesce(looked_up(HEARTBEATS, F.col("api_key")), F.lit("classic")).alias("protocol"),
        F.from_json("request", _REQUEST).alias("sent"),
        F.from_json("response", _RESPONSE).alias("answer"),
        F.from_json(F.when(F.col("api_key") == JOIN, F.col("group_payloads")), _SUBSCRIPTIONS).alias("payloads"),
    )  # fmt: skip
    is_shown = F.col("is_taken") | F.col("is_notified") | F.col("is_given")
    return parsed.where(F.col("sent.groupId").isNotNull() & is_shown)


def _events(messages: DataFrame) -> DataFrame:
    own_id = F.coalesce(unless_empty("sent.memberId"), unless_empty("answer.memberId"))
    own_instance = F.coalesce(unless_empty("sent.groupInstanceId"), unless_empty("sent.instanceId"))
    is_epoch = F.col("protocol") != "classic"
    has_left = is_epoch & (F.col("sent.memberEpoch") == -1)
    generation = (
        F.when(is_epoch, F.col("answer.memberEpoch"))
        .when(F.col("api_key") == JOIN, F.col("answer.generationId"))
        .otherwise(F.col("sent.generationId"))
    )
    is_bump = F.when(is_epoch, ~F.col("sent.memberEpoch").eqNullSafe(F.col("answer.memberEpoch")))
    kind = (
        F.when(F.col("is_given"), F.lit("given"))
        .when(has_left, F.lit("left"))
        .when((F.col("api_key") == JOIN) | is_bump, F.lit("joined"))
        .otherwise(F.lit("seen"))
    )
    of_none = F.col("is_given") | F.coalesce(has_left, F.lit(False))
    own = F.array(
        _event(own_id, own_instance, kind, F.when(of_none, F.lit(-1)).otherwise(generation), F.col("sent.reason"))
    )
    listed = F.transform(
        F.coalesce("answer.members", F.array()),
        lambda m: _event(m["memberId"], m["groupInstanceId"], F.lit("listed"), generation, F.lit(None)),
    )
    entries = (
        F.when(F.col("api_key") == _LEAVE, _leaving())
        .when((F.col("api_key") == JOIN) & F.col("is_taken"), F.concat(own, listed))
        .otherwise(own)
    )
    rows = messages.withColumn("event", F.explode(entries)).select(
        "cluster", "broker", F.col("sent.groupId").alias("group_id"), "protocol",
        F.coalesce("event.member_id", F.lit("")).alias("member_id"),
        unless_empty("event.group_instance_id").alias("group_instance_id"),
        "event.generation", F.when(F.col("event.kind") == "left", F.col("logged_at")).alias("left_at"),
        "event.kind", F.coalesce("event.reason", F.lit("")).alias("reason"),
        "api_key", "logged_at", "started_at", "ingested_at", "is_taken", "is_notified", *_CLIENT, "connection_id", "sent", "answer", "payloads",
        F.col("answer.heartbeatIntervalMs").alias("heartbeat_interval_ms"),
    )  # fmt: skip
    is_named = (F.col("member_id") != "") | F.col("group_instance_id").isNotNull()
    is_of_one = (F.col("generation") >= 0) | F.col("kind").isin("left", "given")
    return rows.where(is_named & is_of_one)


def _event(member: Column, instance: Column, kind: Column, generation: Column, reason: Column) -> Column:
    return F.struct(
        member.cast("string").alias("member_id"),
        instance.cast("string").alias("group_instance_id"),
        kind.alias("kind"),
        generation.cast("int").alias("generation"),
        reason.cast("string").alias("reason"),
    )


def _leaving() -> Column:
    """Return an event for each member that a LeaveGroup names and its answer does not refuse (v3 names several)."""
    answers = F.col("answer.members")
    several = F.transform(
        F.coalesce("sent.members", F.array()),
        lambda m, index: F.struct(m.alias("sent"), F.get(answers, index)["errorCode"].alias("error")),
    )
    accepted = F.filter(several, lambda m: F.coalesce(m["error"], F.lit(0)) == int(ErrorCode.NONE))
    left, of_none = F.lit("left"), F.lit(-1)
    named = F.transform(
        accepted,
        lambda m: _event(m["sent"]["memberId"], m["sent"]["groupInstanceId"], left, of_none, m["sent"]["reason"]),
    )
    alone = F.array(_event(F.col("sent.memberId"), F.lit(None), left, of_none, F.lit(None)))
    return F.when(F.col("sent.memberId").isNotNull(), alone).otherwise(named)


def _join() -> Column:
    own = F.filter("payloads.subscriptions", lambda s: s["memberId"] == F.col("member_id"))
    topics = F.when(F.size(own) > 0, F.array_distinct(flattened(F.transform(own, lambda s: s["topics"]))))
    owned = F.get(F.transform(own, lambda s: _number_of_partitions(s["ownedPartitions"])), F.lit(0))
    names = F.array_compact(F.transform("sent.protocols", lambda p: p["name"]))
    is_new = F.when(F.col("api_key") == JOIN, F.col("sent.memberId") == "").otherwise(F.col("sent.memberEpoch") == 0)
    return F.struct(
        "started_at",
        "logged_at",
        F.coalesce(is_new, F.lit(False)).alias("is_new"),
        "reason",
        _text("answer.leader").alias("leader"),
        _digest(topics).alias("topics"),
        _digest(names).alias("protocols"),
        F.coalesce(owned, F.lit(-1)).cast("int").alias("owned_partitions"),
    )


def _number_of_partitions(owned: Column) -> Column:
    return total(F.transform(owned, lambda o: F.coalesce(F.size(o["partitions"]), F.lit(0)).cast("bigint")))


def _digest(texts: Column) -> Column:
    """Return a digest of a list of texts, whatever their order; an empty text for null."""
    # A list of a length says where a text ends.
    parts = F.transform(F.array_sort(texts), lambda text: F.concat(F.length(text).cast("string"), F.lit(":"), text))
    return F.coalesce(F.md5(F.array_join(parts, ",")), F.lit(""))


def _stated() -> Column:
    """Return the subscription in a heartbeat of KIP-848; null if it states none, as most do."""
    topics = stated_topics()
    regex = F.array(F.concat(F.lit("regex "), unless_empty("sent.subscribedTopicRegex")))
    all_parts = F.array_compact(F.concat(F.coalesce(topics, F.array()), regex))
    states = topics.isNotNull() | F.col("sent.subscribedTopicRegex").isNotNull()
    stated = F.struct("logged_at", "started_at", _digest(all_parts).alias("topics"))
    return F.when(states & F.col("kind").isin("joined", "seen"), stated)
