"""KIP-1313's client instance id: non-zero on the first request with header v3, and the same ever after."""

import base64
import uuid
from typing import Any

import pytest

from tests.concerns.cases import Judged, assert_case, assert_messages, of_columns
from tests.frames import ZERO, named, request

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
ID = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
OTHER = "B" * 21 + "A"
LATE = 20
"""Seconds into the log: a connection that is first heard of then may have begun before it."""


def v3(seconds: float, instance: str | None = ID, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    return request("?", seconds, api, header_version=3, client_instance_id=instance, **given)


def v2(seconds: float, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    return request("?", seconds, api, header_version=2, **given)


def sasl(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"security_protocol": "SASL_SSL"}


def heartbeat(seconds: float, member: str) -> dict[str, Any]:
    return v3(seconds, api="HEARTBEAT", request=f'{{"groupId":"g","memberId":"{member}"}}')


def heartbeat_v2(seconds: float, member: str) -> dict[str, Any]:
    return v2(seconds, "HEARTBEAT", request=f'{{"groupId":"g","memberId":"{member}"}}')


def telemetry(seconds: float, sent: str, given: str) -> dict[str, Any]:
    return v2(
        seconds, "TELEMETRY", request=f'{{"clientInstanceId":"{sent}"}}', response=f'{{"clientInstanceId":"{given}"}}'
    )


case = of_columns("instance_id_", "telemetry_", "member_id_")
CASES = {
    "conforming": case(v3(0), v3(1), client_instance_id=ID, first_request_v3=True, header_v3_requests=2,
        other_instance_ids=[], verdict="conforming"),
    "no header v3": case(v2(0), v2(1), client_instance_id=None, header_v3_requests=0, verdict="no_header_v3",
        member_ids=[], alignment="none", id_sent_first=None),
    "zero at first": case(v3(0, ZERO), v3(1), client_instance_id=ID, different=0, verdict="violating",
        broken="instance_id_zero"),
    "zero later": case(v3(0), v3(1, ZERO), verdict="violating", broken="instance_id_zero"),
    "no id under header v3": case(v3(0), v3(1, None), verdict="violating", broken="instance_id_zero"),
    "missing later": case(v3(0), v2(1), v2(2), verdict="violating", broken={"instance_id_missing": 2}),
    "SaslHandshake is exempt": case(v3(0), request("?", 1, "SASL"), v3(2), missing=0, verdict="conforming"),
    "different later": case(v3(0), v3(1, OTHER), other_instance_ids=[OTHER], client_instance_id=ID, verdict="violating",
        broken="instance_id_different"),
    "the first request has an older header": case(v2(0), v3(1), v3(2, OTHER), first_request_v3=False, different=1,
        missing=0, verdict="outside_kip_rule", broken="instance_id_different"),
    "an older header first, whatever the broker says": case(v2(0), v3(1), v3(2, OTHER, error_code=42),
        verdict="outside_kip_rule", broken="instance_id_different"),
    "the first request is not in the log, and there are two ids": case(v3(LATE), v3(LATE + 1, OTHER),
        start="before_log", verdict="violating", broken="instance_id_different"),
    "the first request is not in the log": case(v3(LATE), v2(LATE + 1), v3(LATE + 2, ZERO), start="before_log",
        missing=1, verdict="start_not_observed"),
    "SASL hides the first requests, and there are two ids": case(sasl(v3(0)), sasl(v3(1, OTHER)),
        start="hidden_by_sasl", verdict="violating", broken="instance_id_different"),
    "two ids, and one request without": case(sasl(v3(0)), sasl(v3(1, OTHER)), sasl(v2(2)), verdict="violating",
        broken="instance_id_different"),
    "SASL hides the first requests": case(sasl(v3(0)), sasl(v2(1)), sasl(v3(2, ZERO)), start="hidden_by_sasl", zero=1,
        verdict="start_not_observed"),
    "an older header first, then two ids, and what came before is hidden": case(sasl(v2(0)), sasl(v3(1)),
        sasl(v3(2, OTHER)), different=1, verdict="start_not_observed"),
    "the broker refuses a request without the id": case(sasl(v3(0)), sasl(v2(1, error_code=42)), sasl(v2(2)),
        verdict="violating", broken={"instance_id_missing": 2}),
    "the broker refuses another id after an older header": case(sasl(v2(0)), sasl(v3(1)),
        sasl(v3(2, OTHER, error_code=42)), verdict="violating", broken="instance_id_different"),
    "the broker refuses the zero id, before the log": case(v3(LATE), v3(LATE + 1, ZERO, error_code=42),
        verdict="violating", broken="instance_id_zero"),
    "the broker refuses what is not wrong": case(sasl(v3(0)), sasl(v3(1, error_code=42)), verdict="conforming"),
    "the broker answers otherwise": case(sasl(v3(0)), sasl(v2(1, error_code=16)), verdict="start_not_observed"),
    "the broker refuses the software name": case(sasl(v3(0)),
        sasl(v2(1, "AV", version=3, request=named("my client", "1"), error_code=42)), missing=1,
        verdict="start_not_observed"),
    "the broker refuses the software version": case(sasl(v3(0)),
        sasl(v2(1, "AV", version=3, request=named("kgo", "1_0"), error_code=42)), verdict="start_not_observed"),
    "the broker refuses ApiVersions without the id": case(sasl(v3(0)),
        sasl(v2(1, "AV", version=3, request=named("kgo", "1"), error_code=42)), verdict="violating",
        broken="instance_id_missing"),
    "an older header first, and what came before is hidden": case(v2(0, security_protocol="SASL_SSL"),
        v3(1, security_protocol="SASL_SSL"), first_request_v3=False, verdict="start_not_observed"),
    "nothing is wrong, whatever SASL hides": case(v3(0, security_protocol="SASL_SSL"),
        v3(1, security_protocol="SASL_SSL"), start="hidden_by_sasl", verdict="conforming"),
    "a member id that is the instance id": case(v3(0), heartbeat(1, ID), member_ids=[ID], alignment="aligned"),
    "the same uuid in hex": case(v3(0), heartbeat(1, str(BITS)), alignment="same_uuid_other_encoding"),
    "the same uuid in plain base64": case(v3(0), heartbeat(1, base64.b64encode(BITS.bytes).decode()),
        alignment="same_uuid_other_encoding"),
    "a member id that is the telemetry id": case(telemetry(0, ID, ZERO), heartbeat_v2(1, ID), alignment="aligned"),
    "a member id of 22 characters that is no uuid": case(v3(0), heartbeat(1, ID[:-1] + "B"), member_ids=[ID[:-1] + "B"],
        alignment="different"),
    "an empty member id": case(v3(0), heartbeat(1, ""), member_ids=[], alignment="none"),
    "another member id": case(v3(0), heartbeat(1, "consumer-1"), alignment="different"),
    "telemetry id from the broker": case(telemetry(0, ZERO, ID), telemetry(1, ID, ZERO), scenario="UUID-B",
        response_id=ID, request_id=ID, id_sent_first=False),
    "telemetry id that the broker returns": case(telemetry(0, ID, ID), scenario="UUID-R", request_id=ID,
        response_id=ID),
    "telemetry id that the broker does not give": case(telemetry(0, ZERO, ZERO), scenario=None, request_id=None,
        response_id=None),
    "telemetry id in the header": case(v3(0), v3(1, api="TELEMETRY", request="{}"), scenario="UUID-H"),
    "telemetry id in the request": case(telemetry(0, ID, ZERO), scenario="UUID-R", request_id=ID, id_sent_first=True),
    "telemetry id in a request with later numbers": case(v2(0), telemetry(2, ID, ZERO), v2(3), id_sent_first=False,
        lowest_correlation_id=0, highest_correlation_id=3),
    "telemetry id in a request with the next number": case(v2(0), v2(1), telemetry(2, ID, ZERO), telemetry(9, ID, ZERO),
        id_sent_first=True),
    "telemetry id in data that nobody asked for": case(
        request("?", 0, "PUSH", request=f'{{"clientInstanceId":"{ID}"}}'), request_id=ID, id_sent_first=False),
    "another telemetry id than in the header": case(v3(0), telemetry(1, OTHER, ZERO), request_id=OTHER, missing=1,
        verdict="violating", broken="telemetry_id_different instance_id_missing"),
    "another telemetry id, given by the broker": case(v2(0), v3(1), telemetry(2, ZERO, OTHER), telemetry(3, ID, ID),
        response_id=OTHER, missing=2, verdict="outside_kip_rule", broken="telemetry_id_different"),
    "the same telemetry id as in the header": case(v2(0), v3(1), telemetry(2, ID, ID), request_id=ID),
    "a broker": case(v3(0, api="UPDATE_METADATA", client_id="1"), v3(1, OTHER, client_id="1"), role="broker",
        client_instance_id=ID, different=None, verdict=None),
}  # fmt: skip
MESSAGES = {
    "telemetry_id_different": ("another telemetry id than in the header",
        f"client instance id '{ID}', in telemetry '{OTHER}'"),
    "instance_id_zero": ("zero at first", "METADATA v0 has header v3 and the zero id"),
    "instance_id_missing": ("missing later", "METADATA v0 has no client instance id"),
    "instance_id_different": ("different later", f"client instance id '{OTHER}' after '{ID}'"),
}  # fmt: skip


@pytest.mark.kip("KIP-1313", 28, case="a member id that is the telemetry id")
@pytest.mark.kip("KIP-1313", 9, case="zero at first")
@pytest.mark.kip("KIP-1313", 10, 12, case="different later")
@pytest.mark.kip("KIP-1313", 11, case="SaslHandshake is exempt")
@pytest.mark.kip("KIP-1313", 13, case="SASL hides the first requests")
@pytest.mark.kip("KIP-1313", 14, case="missing later")
@pytest.mark.kip("KIP-1313", 22, 31, case="telemetry id in the header")
@pytest.mark.kip("KIP-1313", 23, case="another telemetry id than in the header")
@pytest.mark.kip("KIP-1313", 25, case="a member id that is the instance id")
@pytest.mark.kip("KIP-1313", 27, case="the same uuid in hex")
@pytest.mark.kip("KIP-1313", 29, case="telemetry id from the broker")
@pytest.mark.kip("KIP-1313", 30, case="telemetry id in the request")
@pytest.mark.parametrize("name", CASES)
def test_it_judges_by_the_kip(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "client_instance_id")


def test_its_violations_say_what_was_found(judged: Judged) -> None:
    assert_messages(judged, MESSAGES)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("different later", ("KIP-1313", "error", "either")),
        # no rule binds, but one process has one id
        ("the first request has an older header", (None, "info", "either")),
    ],
)
def test_two_ids_are_information_after_a_first_request_with_an_older_header(
    judged: Judged, name: str, said: tuple[str | None, str, str]
) -> None:
    found = judged.violations[name]["instance_id_different"]
    assert (found["kip"], found["severity"], found["blames"]) == said
