"""Client instance ids (KIP-1313), telemetry ids (KIP-714), member ids (KIP-848), and the rules on them.

Severities and advice of the rules are in schemas/rules/client_instance_id.toml.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from ..config.settings import Settings
from ..connections.boundaries import has_header_v3, is_masked
from ..connections.concern import (
    HEARTBEATS,
    Aggregates,
    Columns,
    Concern,
    ConnectionRule,
    LookBack,
    Reads,
    RequestRule,
    is_api_versions,
)
from ..connections.engine import Column, F
from ..connections.judged import requests_where
from ..connections.look_backs import any_before, first_up_to_now
from ..connections.table import is_client, only_of_clients
from ..connections.texts import body_text, sentence, sorted_texts
from ..protocol import BROKER_PATTERN_SQL, ApiKey, ErrorCode
from ..protocol.primitives import ZERO_UUID

_TELEMETRY = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)
_HEX_UUID = r"\A[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\z"
_BASE64_UUID = r"\A[A-Za-z0-9+/]{21}[AQgw]\z"


def reads() -> Columns:
    """Read the ids in telemetry bodies (KIP-714) and in heartbeats of the newer group protocols (KIP-848)."""
    asks = F.col("api_key") == int(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)
    member = body_text("request", "memberId")
    stated = [body_text("request", name) for name in ("clientSoftwareName", "clientSoftwareVersion")]
    is_bad = (F.coalesce(~text.rlike(BROKER_PATTERN_SQL), F.lit(False)) for text in stated)
    return {
        "telemetry_asked_with": F.when(asks, F.coalesce(body_text("request", "clientInstanceId"), F.lit(""))),
        "telemetry_sent_id": F.when(is_telemetry(), _id(body_text("request", "clientInstanceId"))),
        "telemetry_given_id": F.when(asks, _id(body_text("response", "clientInstanceId"))),
        "member_id": F.when(F.col("api_key").isin(*map(int, HEARTBEATS)) & (member != ""), _id(member)),
        "states_bad_software": is_api_versions() & reduce(or_, is_bad),
    }


def earlier() -> Mapping[str, LookBack]:
    """Look for an earlier request with header v3, and for the first id.

    An ApiVersions that is answered with UNSUPPORTED_VERSION does not count: its client is to go on with an older one.
    """
    refused = is_api_versions() & F.coalesce(F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION), F.lit(False))
    own_id = F.when(_has_instance_id(), F.col("client_instance_id"))
    return {
        "after_header_v3": any_before(has_header_v3() & ~refused),
        "first_instance_id": first_up_to_now(own_id),
    }


def predicates() -> Columns:
    """Judge the id: zero with header v3, missing after a request with header v3, or different from the first one.

    SaslHandshake is exempt, because none of its versions can carry an id.
    """
    exempt = F.col("api_key") == int(ApiKey.SASL_HANDSHAKE)
    return {
        "first_instance_id": F.col("first_instance_id"),
        "instance_id_is_zero": has_header_v3() & ~_has_instance_id(),
        "instance_id_is_missing": F.col("after_header_v3") & ~has_header_v3() & ~exempt,
        "instance_id_is_different": _has_instance_id() & (F.col("client_instance_id") != F.col("first_instance_id")),
    }


def is_telemetry() -> Column:
    """Return whether a request is one of the telemetry APIs (KIP-714)."""
    return F.col("api_key").isin(*map(int, _TELEMETRY))


def _has_instance_id() -> Column:
    return F.coalesce(F.col("client_instance_id") != ZERO_UUID, F.lit(False))


def _id(text: Column) -> Column:
    return F.when(text != ZERO_UUID, text)


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
    return F.min_by(is_first & is_ask & ~is_masked(), F.when(is_telemetry(), F.col("seq")))


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
        .when(is_masked(), "start_not_observed")
        .when(is_contradicted(), "violating")
        .when((broken | ~begins_with_header_v3()) & (F.col("start") != "observed"), "start_not_observed")
        .when(~begins_with_header_v3(), "outside_kip_rule")
        .when(broken, "violating")
        .otherwise("conforming")
    )


def uuid_bits(text: Column) -> Column:
    """Return the 128 bits of an id in upper-case hex, from hex, base64 or base64url; null for other texts.

    22 characters of base64 hold 132 bits; if the last four are not zero, the text only looks like an id.
    """
    base64 = F.translate(F.rtrim(F.translate(text, "=", " ")), "-_", "+/")
    is_base64 = base64.rlike(_BASE64_UUID)
    # Not `upper`: at its first use, Spark 4 computes the title case of all of Unicode, which takes 1.5 s.
    return F.when(text.rlike(_HEX_UUID), F.translate(text, "abcdef-", "ABCDEF")).when(
        is_base64, F.hex(F.unbase64(F.concat(base64, F.lit("=="))))
    )


def _is_bound() -> Column:
    """Return whether KIP-1313's rule binds a connection, as its first request or the broker's answers show."""
    is_seen = begins_with_header_v3() & (F.col("start") == "observed")
    return is_client() & (is_seen | is_enforced())


def _has_one_id() -> Column:
    """Return whether different ids on a connection break the rule: it binds, or logged requests break it without the
    first one.
    """
    return _is_bound() | (is_client() & is_contradicted())


REQUEST_RULES = {
    "instance_id_zero": RequestRule(
        "instance_id_is_zero", "{api_name} v{api_version} has header v3 and the zero id", _is_bound
    ),
    "instance_id_missing": RequestRule(
        "instance_id_is_missing", "{api_name} v{api_version} has no client instance id", _is_bound
    ),
    "instance_id_different": RequestRule(
        "instance_id_is_different",
        "client instance id {client_instance_id!r} after {first_instance_id!r}",
        lambda: _has_one_id() | (is_client() & (F.col("start") == "observed")),
        _has_one_id,
    ),
}


def connection_rules(settings: Settings) -> dict[str, ConnectionRule]:
    """Return the rule that the ids in headers and telemetry must be equal."""
    telemetry = other_telemetry_id()
    message = sentence("client instance id {client_instance_id!r}, in telemetry {telemetry!r}", telemetry=telemetry)
    return {"telemetry_id_different": ConnectionRule(telemetry.isNotNull(), message)}


CONCERN = Concern(
    name="client_instance_id",
    reads=Reads(made=reads),
    earlier=earlier,
    predicates=predicates,
    aggregates=aggregates,
    columns=columns,
    request_rules=REQUEST_RULES,
    connection_rules=connection_rules,
)
