"""Predicates on a request's client instance id (KIP-1313), and the ids in telemetry and heartbeats."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from ...connections.boundaries import LookBack, any_before, first_up_to_now, has_header_v3
from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.judged import has_instance_id
from ...connections.request_columns import HEARTBEATS, is_api_versions
from ...connections.texts import body_text
from ...protocol import BROKER_PATTERN_SQL, ApiKey
from ...protocol.primitives import ZERO_UUID

_TELEMETRY = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)


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
        "member_id": F.when(F.col("api_key").isin(*map(int, HEARTBEATS)) & (member != ""), member),
        "states_bad_software": is_api_versions() & reduce(or_, is_bad),
    }


def earlier() -> Mapping[str, LookBack]:
    """Look for an earlier request with header v3, and for the first id."""
    own_id = F.when(has_instance_id(), F.col("client_instance_id"))
    return {
        "after_header_v3": any_before(has_header_v3()),
        "first_instance_id": first_up_to_now(own_id),
    }


def predicates() -> Columns:
    """Judge the id: zero with header v3, missing after a request with header v3, or different from the first one.

    SaslHandshake is exempt, because none of its versions can carry an id.
    """
    exempt = F.col("api_key") == int(ApiKey.SASL_HANDSHAKE)
    return {
        "instance_id_is_zero": has_header_v3() & ~has_instance_id(),
        "instance_id_is_missing": F.col("after_header_v3") & ~has_header_v3() & ~exempt,
        "instance_id_is_different": has_instance_id() & (F.col("client_instance_id") != F.col("first_instance_id")),
    }


def is_telemetry() -> Column:
    """Return whether a request is one of the telemetry APIs (KIP-714)."""
    return F.col("api_key").isin(*map(int, _TELEMETRY))


def _id(text: Column) -> Column:
    return F.when(text != ZERO_UUID, text)
