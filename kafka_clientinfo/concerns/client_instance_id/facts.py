"""Columns of a connection on its client instance ids (KIP-1313), telemetry ids (KIP-714) and member ids (KIP-848)."""

from ...config.settings import Settings
from ...connections.boundaries import has_header_v3
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.judged import requests_where
from ...connections.table import only_of_clients
from ...connections.texts import sorted_texts
from ...protocol import ErrorCode
from ...protocol.primitives import ZERO_UUID
from .predicates import is_telemetry
from .uuids import uuid_bits


def aggregates() -> Aggregates:
    """Count a connection's requests by what is wrong with their id, and take the first id of each kind."""
    return {
        **_judged(),
        "own_instance_id": _first(F.col("first_instance_id")),
        "first_telemetry_asked_with": _first(F.col("telemetry_asked_with")),
        "telemetry_in_header": F.bool_or(is_telemetry() & has_header_v3()),
        "instance_id_rejected": requests_where(_is_rejected_for_id()),
    }


def _judged() -> Aggregates:
    """Return the aggregates that are columns of the table `connections` without change."""
    different = F.col("instance_id_is_different")
    return {
        "header_v3_requests": requests_where(has_header_v3()),
        "instance_id_zero": requests_where(F.col("instance_id_is_zero")),
        "instance_id_missing": requests_where(F.col("instance_id_is_missing")),
        "instance_id_different": requests_where(different),
        "other_instance_ids": sorted_texts(F.when(different, F.col("client_instance_id"))),
        "telemetry_request_id": _first(F.col("telemetry_sent_id")),
        "telemetry_response_id": _first(F.col("telemetry_given_id")),
        "member_ids": sorted_texts(F.col("member_id")),
        "lowest_correlation_id": F.min("lowest_correlation_id"),
        "highest_correlation_id": F.max("highest_correlation_id"),
        "telemetry_id_sent_first": _is_sent_first(),
    }


def columns(settings: Settings) -> Columns:
    """Return the columns of the group client_instance_id of the table `connections`."""
    judged = {
        **{name: F.col(name) for name in _judged()},
        "first_request_v3": begins_with_header_v3(),
        "telemetry_scenario": _scenario(),
        "member_id_alignment": _alignment(),
        "instance_id_verdict": _verdict(),
    }
    return {"client_instance_id": F.col("own_instance_id"), **only_of_clients(judged)}


def begins_with_header_v3() -> Column:
    """Return whether a connection's first request has header v3: only then KIP-1313 binds it."""
    return has_header_v3("first.header_version")


def is_enforced() -> Column:
    """Return whether the broker enforces the rule on a connection, although the log lacks the connection's first
    request.

    A broker refuses requests for their id only if the first one had header v3.
    """
    return (F.col("start") != "observed") & (F.col("instance_id_rejected") > 0)


def is_contradicted() -> Column:
    """Return whether logged requests break the rule even if the log lacks the first one, as two different ids do."""
    return is_enforced() | (begins_with_header_v3() & (F.col("instance_id_different") > 0))


def other_telemetry_id() -> Column:
    """Return a telemetry id that differs from the id in headers; null if none does. KIP-1313 wants them to be equal."""
    ids = F.array_compact(F.array("telemetry_request_id", "telemetry_response_id"))
    return F.get(F.filter(ids, lambda sent: uuid_bits(sent) != uuid_bits(F.col("client_instance_id"))), F.lit(0))


def _first(value: Column) -> Column:
    return F.min_by(value, F.when(value.isNotNull(), F.col("seq")))


def _is_rejected_for_id() -> Column:
    """Return whether a request breaks the rule of the id and the broker refused it.

    Brokers refuse a bad software name with the same error, so a request that also has one doesn't count.
    """
    broken = F.col("instance_id_is_zero") | F.col("instance_id_is_missing") | F.col("instance_id_is_different")
    is_refused = F.coalesce(F.col("error_code") == int(ErrorCode.INVALID_REQUEST), F.lit(False))
    return broken & is_refused & ~F.col("states_bad_software")


def _is_sent_first() -> Column:
    """Return whether a telemetry id is sent before any broker can have assigned it.

    It is, for a client that counts correlation ids over all its connections, if the request's position on the
    connection equals its correlation id: then the client has sent nothing on other connections.
    """
    is_first = (F.col("seq") == F.col("correlation_id")) & F.col("telemetry_sent_id").isNotNull()
    is_ask = F.col("telemetry_asked_with").isNotNull()
    return F.min_by(is_first & is_ask, F.when(is_telemetry(), F.col("seq")))


def _scenario() -> Column:
    """Return KIP-1313's telemetry scenario as one connection shows it; `client_instances` judges all connections."""
    asked_for_one = F.col("first_telemetry_asked_with") == ZERO_UUID
    broker_made = asked_for_one & F.col("telemetry_response_id").isNotNull()
    return (
        F.when(F.col("telemetry_in_header"), "UUID-H")
        .when(broker_made, "UUID-B")
        .when(F.col("telemetry_request_id").isNotNull(), "UUID-R")
    )


def _alignment() -> Column:
    """Return whether a member id is the instance id, as the same text or as the same 128 bits in another encoding."""
    instance = F.coalesce("own_instance_id", "telemetry_request_id", "telemetry_response_id")
    members = F.col("member_ids")
    same_bits = F.exists(members, lambda member: F.coalesce(uuid_bits(member) == uuid_bits(instance), F.lit(False)))
    return (
        F.when(instance.isNull() | (F.size(members) == 0), "none")
        .when(F.array_contains(members, instance), "aligned")
        .when(same_bits, "same_uuid_other_encoding")
        .otherwise("different")
    )


def _verdict() -> Column:
    broken = (F.col("instance_id_zero") + F.col("instance_id_missing") + F.col("instance_id_different")) > 0
    return (
        F.when(F.col("header_v3_requests") == 0, "no_header_v3")
        .when(is_contradicted(), "violating")
        .when((broken | ~begins_with_header_v3()) & (F.col("start") != "observed"), "start_not_observed")
        .when(~begins_with_header_v3(), "outside_kip_rule")
        .when(broken, "violating")
        .otherwise("conforming")
    )
