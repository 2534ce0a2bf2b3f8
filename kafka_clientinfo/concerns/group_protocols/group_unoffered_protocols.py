"""Protocol types and names that a coordinator answered though no member offered them: a relation, not a table.

The coordinator of a classic group must choose its type and name from what members state in JoinGroup (KIP-559). The
response to the leader lists the members of the generation. Only if the log has a JoinGroup of each of them, it is
certain that nobody offered a type or name.
"""

from ...connections.engine import DataFrame, F
from ...connections.texts import LISTED

_GROUP = ("cluster", "group_id")
_ANSWER = ("broker", "connection_id", "opened_at", "opened_seq", "answer_no")
_OF_ANSWER = ("generation", "api_name", "api_version", "first_at", "last_at", "requests", "example")


def transform(connection_groups: DataFrame) -> DataFrame:
    """Return one row per group, generation and wrong answer to a leader.

    Returns:
        cluster and group_id; field, `protocol type` or `protocol name`; answered, the coordinator's type or name;
        generation; members, their number; and of the answers api_name, api_version, first_at, last_at, requests and
        example.
    """
    numbered = F.transform(
        "unoffered_answers", lambda answer, i: F.struct(i.alias("answer_no"), answer.alias("answer"))
    )
    of_connection = [name for name in _ANSWER if name != "answer_no"]
    listed = connection_groups.select(*_GROUP, *of_connection, F.explode(numbered).alias("entry"))
    each = listed.select(*_GROUP, *of_connection, "entry.answer_no", F.col("entry.answer").alias("answer"))
    answers = each.select(*_GROUP, *_ANSWER, "answer.*")
    by_member = answers.withColumn("member_id", F.explode("members"))
    beside = by_member.join(_offers(connection_groups), on=[*_GROUP, "member_id"], how="left")
    is_known = F.coalesce(F.col("types").isNotNull() & (F.col("most_names") < LISTED), F.lit(False))
    judged = beside.groupBy(*_GROUP, *_ANSWER).agg(
        F.bool_and(is_known).alias("all_known"),
        *(
            F.bool_or(F.array_contains(offered, F.col(answered))).alias(f"{answered}_is_offered")
            for answered, offered in (("protocol_type", "types"), ("protocol_name", "names"))
        ),
        *(F.min(name).alias(name) for name in ("protocol_type", "protocol_name", *_OF_ANSWER)),
        F.count("*").alias("members"),
    )
    is_wrong = {name: F.when(~F.col(f"{name}_is_offered"), F.col(name)) for name in ("protocol_type", "protocol_name")}
    field = F.when(is_wrong["protocol_type"].isNotNull(), "protocol type").when(
        is_wrong["protocol_name"].isNotNull(), "protocol name"
    )
    with_field = judged.withColumns({"field": field, "answered": F.coalesce(*is_wrong.values())})
    return with_field.where(F.col("all_known") & F.col("field").isNotNull()).select(
        *_GROUP, "field", "answered", "members", *_OF_ANSWER
    )


def _offers(connection_groups: DataFrame) -> DataFrame:
    """Collect the protocol types and names that each member of a group states in its JoinGroups."""
    entry = F.explode("memberships").alias("entry")
    entries = connection_groups.select(*_GROUP, entry).select(*_GROUP, "entry.*")
    joined = entries.where((F.size("offered") > 0) & F.col("member_id").isNotNull())
    return joined.groupBy(*_GROUP, "member_id").agg(
        F.collect_set("protocol_type").alias("types"),
        F.flatten(F.collect_list("offered")).alias("names"),
        F.max(F.size("offered")).alias("most_names"),
    )
