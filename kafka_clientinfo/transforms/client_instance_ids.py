"""KIP-1313's client instance id: non-zero on the first request with header v3, and the same on all that follow."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..tables import SESSION_KEY
from .columns import SASL_HANDSHAKE, ZERO_UUID, body_text, has_header_v3, has_instance_id, sorted_texts, uuid_bits

_GET_TELEMETRY, _PUSH_TELEMETRY = 71, 72
_GROUP_HEARTBEATS = (68, 76, 88)


def transform(session_requests: DataFrame, session_facts: DataFrame) -> DataFrame:
    """Per client session: counts by KIP-1313's rule, telemetry ids (KIP-714) and member ids (KIP-848)."""
    telemetry = F.col("api_key").isin(_GET_TELEMETRY, _PUSH_TELEMETRY)
    asks = F.col("api_key") == _GET_TELEMETRY
    in_request, in_response = (
        body_text("request", "clientInstanceId"),
        body_text("response", "clientInstanceId"),
    )
    folded = session_requests.groupBy(*SESSION_KEY).agg(
        F.max("first_instance_id").alias("client_instance_id"),
        F.bool_or((F.col("seq") == 0) & has_header_v3()).alias("first_request_v3"),
        F.sum(has_header_v3().cast("int")).alias("header_v3_requests"),
        F.sum(is_zero().cast("int")).alias("zero"),
        F.sum(is_missing().cast("int")).alias("missing"),
        F.sum(is_different().cast("int")).alias("different"),
        sorted_texts(F.when(is_different(), F.col("client_instance_id"))).alias("other_ids"),
        _first(F.when(telemetry & (in_request != ZERO_UUID), in_request)).alias("telemetry_request_id"),
        _first(F.when(asks & (in_response != ZERO_UUID), in_response)).alias("telemetry_response_id"),
        _first(F.when(asks, F.coalesce(in_request, F.lit("")))).alias("asked_with"),
        F.bool_or(telemetry & has_header_v3()).alias("telemetry_v3"),
        sorted_texts(_member_id()).alias("member_ids"),
    )
    clients = session_facts.where(F.col("role") == "client").select(*SESSION_KEY, "start")
    return clients.join(folded, on=list(SESSION_KEY), how="inner").select(
        *SESSION_KEY,
        "client_instance_id",
        "first_request_v3",
        "header_v3_requests",
        "zero",
        "missing",
        "different",
        "other_ids",
        "telemetry_request_id",
        "telemetry_response_id",
        _scenario().alias("telemetry_scenario"),
        "member_ids",
        _alignment().alias("member_id_alignment"),
        _verdict().alias("verdict"),
    )


def is_zero() -> Column:
    """Header v3 with the zero id."""
    return has_header_v3() & ~has_instance_id()


def is_missing() -> Column:
    """No id on a request after the first one with header v3; SaslHandshake has no version that could carry one."""
    after = F.coalesce(F.col("seq") > F.col("first_v3_seq"), F.lit(False))
    return after & ~has_header_v3() & (F.col("api_key") != SASL_HANDSHAKE)


def is_different() -> Column:
    """An id that is not the connection's first one."""
    return has_instance_id() & (F.col("client_instance_id") != F.col("first_instance_id"))


def _first(value: Column) -> Column:
    return F.min_by(value, F.when(value.isNotNull(), F.col("seq")))


def _member_id() -> Column:
    member = body_text("request", "memberId")
    return F.when(F.col("api_key").isin(*_GROUP_HEARTBEATS) & (member != ""), member)


def _scenario() -> Column:
    """KIP-1313's table. An id in the request alone may be the client's own or one a broker gave before: not told."""
    broker_made = (F.col("asked_with") == ZERO_UUID) & F.col("telemetry_response_id").isNotNull()
    return F.when(F.col("telemetry_v3"), "UUID-H").when(broker_made, "UUID-B")


def _alignment() -> Column:
    """Whether a member id is the instance id, as text or as the same 128 bits in another encoding."""
    instance = F.coalesce("client_instance_id", "telemetry_request_id", "telemetry_response_id")
    same_bits = F.exists(
        "member_ids", lambda member: F.coalesce(uuid_bits(member) == uuid_bits(instance), F.lit(False))
    )
    return (
        F.when(instance.isNull() | (F.size("member_ids") == 0), "none")
        .when(F.array_contains("member_ids", instance), "aligned")
        .when(same_bits, "same_uuid_other_encoding")
        .otherwise("different")
    )


def _verdict() -> Column:
    broken = (F.col("zero") + F.col("missing") + F.col("different")) > 0
    return (
        F.when(F.col("header_v3_requests") == 0, "no_header_v3")
        .when(broken & (F.col("start") == "before_log"), "start_not_observed")
        .when(~F.col("first_request_v3"), "outside_kip_rule")
        .when(broken, "violating")
        .otherwise("conforming")
    )
