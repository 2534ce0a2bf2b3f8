"""Which types and names a coordinator answered that nobody in a classic group offered: a relation, and no table.

The coordinator takes the group's type and name from what its members state in JoinGroup (KIP-559). What none of them
stated is the coordinator's own. That all of them are known shows the answer to the leader, which lists the members of
the generation: each of these must have a JoinGroup in the log. Else nothing is concluded.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...connections.texts import LISTED, looked_up

_GROUP = ("cluster", "group_id")
_ANSWER = ("broker", "connection_id", "opened_at", "opened_seq", "place")


def transform(connection_groups: DataFrame) -> DataFrame:
    """Makes one row per group, generation and wrong answer to a leader.

    Returns:
        cluster and group_id; field, `protocol type` or `protocol name`; answered, what the coordinator answered; generation;
        members, their number; api_name, api_version, first_at, last_at, requests and example of the answers.
    """
    placed = F.transform("unoffered_answers", lambda one, place: F.struct(place.alias("place"), one.alias("answer")))
    of_connection = [name for name in _ANSWER if name != "place"]
    listed = connection_groups.select(*_GROUP, *of_connection, F.explode(placed).alias("one"))
    each = listed.select(*_GROUP, *of_connection, "one.place", F.col("one.answer").alias("answer"))
    answers = each.select(*_GROUP, *_ANSWER, "answer.*")
    by_member = answers.withColumn("member_id", F.explode("members"))
    beside = by_member.join(_offers(connection_groups), on=[*_GROUP, "member_id"], how="left")
    is_known = F.coalesce(F.col("types").isNotNull() & (F.col("most_names") < LISTED), F.lit(False))
    judged = beside.groupBy(*_GROUP, *_ANSWER).agg(
        F.bool_and(is_known).alias("all_known"),
        *(
            F.bool_or(F.coalesce(F.array_contains(offered, F.col(answered)), F.lit(False))).alias(f"{answered}_is_offered")
            for answered, offered in (("protocol_type", "types"), ("protocol_name", "names"))
        ),
        *(F.min(name).alias(name) for name in ("protocol_type", "protocol_name", "generation", "api_name", "api_version",
                                               "first_at", "last_at", "requests", "example")),
        F.count("*").alias("members"),
    )  # fmt: skip
    is_wrong = {name: F.when(~F.col(f"{name}_is_offered"), F.col(name)) for name in ("protocol_type", "protocol_name")}
    field = F.when(is_wrong["protocol_type"].isNotNull(), "protocol_type").when(
        is_wrong["protocol_name"].isNotNull(), "protocol_name"
    )
    found = judged.withColumns({"wrong": field, "answered": F.coalesce(*is_wrong.values())})
    words = {"protocol_type": "protocol type", "protocol_name": "protocol name"}
    names = (
        "answered",
        "generation",
        "members",
        "api_name",
        "api_version",
        "first_at",
        "last_at",
        "requests",
        "example",
    )
    return found.where(F.col("all_known") & F.col("wrong").isNotNull()).select(
        *_GROUP, looked_up(words, F.col("wrong")).alias("field"), *names
    )


def _offers(connection_groups: DataFrame) -> DataFrame:
    """Gathers what each member of a group states in its JoinGroups."""
    entry = F.explode("memberships").alias("entry")
    entries = connection_groups.select(*_GROUP, entry).select(*_GROUP, "entry.*")
    joined = entries.where((F.size("offered") > 0) & F.col("member_id").isNotNull())
    return joined.groupBy(*_GROUP, "member_id").agg(
        F.collect_set("protocol_type").alias("types"),
        F.flatten(F.collect_list("offered")).alias("names"),
        F.max(F.size("offered")).alias("most_names"),
    )
