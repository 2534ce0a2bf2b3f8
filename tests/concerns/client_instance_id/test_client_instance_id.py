"""KIP-1313's client instance id: non-zero on the first request with header v3, and the same ever after."""

import base64
import uuid
from typing import Any

import pytest

from tests.frames import ZERO, by_connection, derive, request

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
ID = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
OTHER = "B" * 21 + "A"
Case = tuple[list[dict[str, Any]], dict[str, Any]]


def v3(seconds: float, instance: str | None = ID, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    return request("?", seconds, api, header_version=3, client_instance_id=instance, **given)


def v2(seconds: float, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    return request("?", seconds, api, header_version=2, **given)


def heartbeat(seconds: float, member: str) -> dict[str, Any]:
    return v3(seconds, api="HEARTBEAT", request=f'{{"groupId":"g","memberId":"{member}"}}')


def telemetry(seconds: float, sent: str, given: str) -> dict[str, Any]:
    return v2(
        seconds, "TELEMETRY", request=f'{{"clientInstanceId":"{sent}"}}', response=f'{{"clientInstanceId":"{given}"}}'
    )


CASES: dict[str, Case] = {
    "conforming": ([v3(0), v3(1)], {"client_instance_id": ID, "header_v3_requests": 2, "verdict": "conforming"}),
    "no header v3": (
        [v2(0), v2(1)],
        {"header_v3_requests": 0, "verdict": "no_header_v3", "member_id_alignment": "none"},
    ),
    "zero at first": (
        [v3(0, ZERO), v3(1)],
        {"zero": 1, "client_instance_id": ID, "different": 0, "verdict": "violating"},
    ),
    "zero later": ([v3(0), v3(1, ZERO)], {"zero": 1, "verdict": "violating"}),
    "no id under header v3": ([v3(0), v3(1, None)], {"zero": 1, "verdict": "violating"}),
    "missing later": ([v3(0), v2(1)], {"missing": 1, "verdict": "violating"}),
    "SaslHandshake is exempt": ([v3(0), request("?", 1, "SASL"), v3(2)], {"missing": 0, "verdict": "conforming"}),
    "different later": ([v3(0), v3(1, OTHER)], {"different": 1, "other_ids": [OTHER], "verdict": "violating"}),
    "the first request has an older header": (
        [v2(0), v3(1), v3(2, OTHER)],
        {"first_request_v3": False, "different": 1, "missing": 0, "verdict": "outside_kip_rule"},
    ),
    "a member id that is the instance id": (
        [v3(0), heartbeat(1, ID)],
        {"member_ids": [ID], "member_id_alignment": "aligned"},
    ),
    "the same uuid in hex": ([v3(0), heartbeat(1, str(BITS))], {"member_id_alignment": "same_uuid_other_encoding"}),
    "the same uuid in plain base64": (
        [v3(0), heartbeat(1, base64.b64encode(BITS.bytes).decode())],
        {"member_id_alignment": "same_uuid_other_encoding"},
    ),
    "another member id": ([v3(0), heartbeat(1, "consumer-1")], {"member_id_alignment": "different"}),
    "telemetry id from the broker": (
        [telemetry(0, ZERO, ID), telemetry(1, ID, ZERO)],
        {"telemetry_scenario": "UUID-B", "telemetry_response_id": ID, "telemetry_request_id": ID},
    ),
    "telemetry id in the header": ([v3(0), v3(1, api="TELEMETRY", request="{}")], {"telemetry_scenario": "UUID-H"}),
    "telemetry id in the request": ([telemetry(0, ID, ZERO)], {"telemetry_scenario": None, "telemetry_request_id": ID}),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[Any]]:
    rows = [request("opens the log", 0, correlation_id=77)]
    rows += [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    rows += [
        request("start not in the log", 20, header_version=3, client_instance_id=ID),
        request("start not in the log", 21, header_version=3, client_instance_id=OTHER),
    ]
    return by_connection(derive(spark, rows)["client_instance_ids"])


@pytest.mark.parametrize("name", CASES)
def test_it_judges_by_the_kip(found: dict[str, list[Any]], name: str) -> None:
    (row,) = found[name]
    assert {key: row[key] for key in CASES[name][1]} == CASES[name][1]


def test_it_accuses_nobody_whose_first_request_it_has_not_seen(found: dict[str, list[Any]]) -> None:
    (row,) = found["start not in the log"]
    assert (row["different"], row["verdict"]) == (1, "start_not_observed")
