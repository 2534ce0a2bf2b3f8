"""The messages of groups with parsed bodies: a relation for `connection_groups`, not a table.

An older SyncGroup states neither the type of its assignments nor a protocol name (KIP-559). Both come from the
JoinGroup before it on the same connection, if it has the same member and generation.
"""

from ...connections.concern import GROUP_APIS
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.examples import source
from ...connections.judged import is_rejected, is_taken
from ...connections.texts import flattened, sentence, shown
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY

JOIN, SYNC, DESCRIBE = int(ApiKey.JOIN_GROUP), int(ApiKey.SYNC_GROUP), int(ApiKey.DESCRIBE_GROUPS)
GROUP_KEY = (*CONNECTION_KEY, "group_id")
OF_KIND = ("requests", "last_seq", "earliest_at", "latest_at")
"""Columns of rows that may stand for several messages."""
FIRST_SYNC_WITH_PROTOCOL = 5
"""The first version of SyncGroup that states the protocol type and name (KIP-559)."""
MOST_MEMBERS = 100
"""Generations with more members aren't checked for protocols that nobody offered."""
_REQUEST = """groupId string, memberId string, protocolType string, protocolName string,
    protocols array<struct<name:string>>, subscribedTopicNames array<string>, rackId string,
    topology struct<subtopologies:array<struct<sourceTopics:array<string>>>>, generationId int, sessionTimeoutMs int"""
_RESPONSE = """protocolType string, protocolName string, memberId string, generationId int,
    members array<struct<memberId:string>>,
    groups array<struct<groupId:string,protocolType:string,protocolData:string>>"""
_PAYLOADS = """subscriptions array<struct<memberId:string,protocolType:string,protocolName:string,version:int,
    topics:array<string>,ownedPartitions:array<struct<topic:string,partitions:array<int>>>,generationId:int,
    rackId:string,userDataBytes:bigint>>, undecoded map<string,bigint>,
    assignments array<{assignment}>, assumed map<string,array<{assignment}>>""".format(
    assignment="struct<memberId:string,version:int,assignedPartitions:array<struct<topic:string,partitions:array<int>>>>"
)


def transform(judged_requests: DataFrame) -> DataFrame:
    """Return one row per message and group; a DescribeGroups request may name many groups.

    Heartbeats that are alike are one row, with their number.

    Returns:
        The rows, with
        - `GROUP_KEY`, and the request's seq, api_key, api_name, api_version, error_code, logged_at, is_rejected,
          is_taken and source; and `OF_KIND` (see `judged.judged_requests`);
        - sent, answer and payloads: the fields that are read from the bodies; payloads are null for DescribeGroups,
          because they don't state the group to which they belong;
        - answered: whether a response is logged;
        - sent_type, the protocol type in the request, and response_type and response_name, the type and name in the response;
        - members: the member ids in the response to a leader; null if there are more than `MOST_MEMBERS`;
        - joined: the fields of the JoinGroup before a SyncGroup;
        - name_mismatch, see `_name_mismatch`, and is_of_answer, whether only the answer causes it: it states another name
          than the request; and
        - refusal, see `_refusal`.
    """
    chosen = judged_requests.where(F.col("api_key").isin(*map(int, GROUP_APIS)) & F.col("request").isNotNull()).select(
        *CONNECTION_KEY,
        "seq",
        "api_key",
        "api_name",
        "api_version",
        "error_code",
        "logged_at",
        *OF_KIND,
        is_rejected().alias("is_rejected"),
        is_taken().alias("is_taken"),
        source().alias("source"),
        F.from_json("request", _REQUEST).alias("sent"),
        F.from_json("response", _RESPONSE).alias("answer"),
        F.col("response").isNotNull().alias("answered"),
        F.when(F.col("api_key") != DESCRIBE, F.from_json("group_payloads", _PAYLOADS)).alias("payloads"),
    )
    described = F.transform("answer.groups", lambda g: _of(g["groupId"], g["protocolType"], g["protocolData"]))
    own = F.array(_of(F.col("sent.groupId"), F.col("answer.protocolType"), F.col("answer.protocolName")))
    groups = F.when(F.col("api_key") == DESCRIBE, described).otherwise(own)
    exploded = chosen.withColumn("of", F.explode(groups)).where(F.col("of.group_id").isNotNull())
    messages = exploded.select(
        *(name for name in chosen.columns if name != "answer"),
        # Without the answer's groups: else the row of each group would hold all of them.
        F.struct("answer.memberId", "answer.generationId").alias("answer"),
        F.col("of.group_id").alias("group_id"),
        unless_empty("sent.protocolType").alias("sent_type"),
        unless_empty("of.type").alias("response_type"),
        unless_empty("of.name").alias("response_name"),
        F.when(
            F.size("answer.members").between(1, MOST_MEMBERS), F.transform("answer.members", lambda m: m["memberId"])
        ).alias("members"),
    )
    with_joined = messages.withColumn("joined", _joined())
    return with_joined.withColumns(
        {"name_mismatch": _name_mismatch(), "is_of_answer": _is_of_answer(), "refusal": _refusal()}
    )


def _of(group_id: Column, kind: Column, name: Column) -> Column:
    return F.struct(group_id.alias("group_id"), kind.alias("type"), name.alias("name"))


def _joined() -> Column:
    """Return fields of the last JoinGroup before a SyncGroup.

    Null if the answer to that JoinGroup has another member or generation, and for other messages.
    """
    earlier = Window.partitionBy(*GROUP_KEY).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    join = F.struct(
        F.col("answer.memberId").alias("member"),
        F.col("answer.generationId").alias("generation"),
        F.col("sent_type").alias("type"),
        F.coalesce("response_type", "sent_type").alias("chosen_type"),
        F.col("response_name").alias("name"),
        offered_names().alias("offered"),
        "members",
    )
    last = F.last(F.when(F.col("api_key") == JOIN, join), ignorenulls=True).over(earlier)
    is_same = (last["member"] == F.col("sent.memberId")) & (last["generation"] == F.col("sent.generationId"))
    return F.when((F.col("api_key") == SYNC) & is_same, last)


def _name_mismatch() -> Column:
    """Return a text of how a protocol name in JoinGroup or SyncGroup differs from an earlier one; null if none does.

    A member offers names in JoinGroup, the response chooses one, and SyncGroup and its response repeat it from v5 on.
    The expression reads `sent`, `response_name` and `joined`.
    """
    stated, answered, chosen = F.col("sent.protocolName"), F.col("response_name"), F.col("joined.name")
    own_offer, offer = offered_names(), F.col("joined.offered")
    is_join = F.col("api_key") == JOIN
    is_sync = (F.col("api_key") == SYNC) & (stated != "")
    request = "{api_name} v{api_version} with protocol name {sent.protocolName!r}"
    wrong_answer = "{api_name} v{api_version} was answered with protocol name {response_name!r} after offering {names}"
    return (
        F.when(is_join & is_not_in(answered, own_offer), sentence(wrong_answer, names=_listed(own_offer)))
        .when(is_sync & (answered != stated), sentence(request + " was answered with {response_name!r}"))
        .when(is_sync & (chosen != stated), sentence(request + " after JoinGroup chose {joined.name!r}"))
        .when(is_sync & is_not_in(stated, offer), sentence(request + " after offering {names}", names=_listed(offer)))
    )


def _is_of_answer() -> Column:
    """Return whether the coordinator named another protocol than the request, which it takes, or than was offered.

    Then no client is to blame, nor if its SyncGroup repeats the name that JoinGroup was answered with.
    """
    is_taken = F.coalesce(F.col("error_code") == int(ErrorCode.NONE), F.lit(True))
    is_join, is_sync = F.col("api_key") == JOIN, (F.col("api_key") == SYNC) & (F.col("sent.protocolName") != "")
    is_another = F.when(is_join, is_not_in(F.col("response_name"), offered_names())).when(
        is_sync, F.col("response_name") != F.col("sent.protocolName")
    )
    repeats = (F.col("sent.protocolName") == F.col("joined.name")) & is_not_in(
        F.col("joined.name"), F.col("joined.offered")
    )
    return F.coalesce((is_taken & is_another) | (is_sync & repeats), F.lit(False))


def _refusal() -> Column:
    """Return what a SyncGroup that is answered with INCONSISTENT_GROUP_PROTOCOL states; null for other messages.

    Returns:
        `chosen`: what JoinGroup answered to the same member in the same generation, which no coordinator may refuse;
        `nothing`: no type or no name, which v5 must state; `not_known`: the log shows no such JoinGroup on the connection, or
        one that was answered with what it had not offered; or `other`. Before v5 it states neither, so that there is nothing to refuse.
    """
    is_refused = (F.col("api_key") == SYNC) & (F.col("error_code") == int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    name, states_both = unless_empty("sent.protocolName"), F.col("api_version") >= FIRST_SYNC_WITH_PROTOCOL
    is_chosen = (F.col("sent_type") == F.col("joined.chosen_type")) & (name == F.col("joined.name"))
    what = (
        F.when(states_both & (F.col("sent_type").isNull() | name.isNull()), "nothing")
        .when(F.col("joined.name").isNotNull() & (is_chosen | ~states_both), "chosen")
        .when(F.col("joined").isNull() | is_not_in(F.col("joined.name"), F.col("joined.offered")), "not_known")
        .otherwise("other")
    )
    return F.when(is_refused, what)


def is_not_in(name: Column, offer: Column) -> Column:
    """Return whether a name is missing in an offer; null if the name or the offer is not known."""
    return (F.size(offer) > 0) & ~F.array_contains(offer, name)


def _listed(offer: Column) -> Column:
    return F.array_join(F.slice(F.transform(offer, shown), 1, 5), ", ")


def offered_names() -> Column:
    """Return the protocol names that a JoinGroup offers, without protocols that have no name."""
    return F.array_compact(F.transform("sent.protocols", lambda p: p["name"]))


def stated_topics() -> Column:
    """Return the topics to which a heartbeat subscribes, or which its topology reads; null if it states neither."""
    of_streams = flattened(F.transform("sent.topology.subtopologies", lambda t: t["sourceTopics"]))
    return F.array_compact(F.coalesce("sent.subscribedTopicNames", of_streams))


def unless_empty(name: str) -> Column:
    """Return a text, or null if it is empty, as brokers write missing texts."""
    return F.when(F.col(name) != "", F.col(name))
