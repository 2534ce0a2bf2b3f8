"""KIP-511: names and versions as sent, as the broker takes them, what happens to them, and why a client is unknown."""

from typing import Any

import pytest

from tests.concerns.cases import Judged, assert_case, assert_messages, of_columns
from tests.frames import api_versions, named, offer, request

KGO = {"client_software_name": "kgo", "client_software_version": "1"}
NOT_LOGGED = {"client_software_name": None, "client_software_version": None}
"""2.4 takes names and logs none."""
OF_STRUCTS = NOT_LOGGED | {"log_generation": "request_header_struct"}
"""1.0 to 2.4: their records show no names."""


def av(
    seconds: float, version: int = 3, name: str | None = None, error: int = 0, release: str = "1", **given: Any
) -> dict[str, Any]:
    body = named(name, release) if name is not None else "{}"
    return api_versions("?", seconds, version, error_code=error, **{"request": body} | given)


case = of_columns("client_software_", "software_")
CASES = {
    "named and at work": case(av(0, name="kgo"), request("?", 1, **KGO), name="kgo", version="1", valid_by_kip=True,
        invalid_software_texts=[], resets=0, changes=0),
    "named by its last request": case(av(0, name="kgo"), name="kgo", reason_unknown=None),
    "2.4 keeps no name": case(av(0, name="kgo", **NOT_LOGGED), request("?", 1, **NOT_LOGGED), name="kgo"),
    "named before SASL": case(request("?", 0, security_protocol="SASL_SSL", **KGO), name="kgo", valid_by_kip=None,
        reason_unknown=None),
    "never asked": case(request("?", 0, correlation_id=0), name="unknown", reason_unknown="not_sent"),
    "asked before the log": case(request("?", 0, correlation_id=70), reason_unknown="not_observed"),
    "asked without a name": case(av(0, 2), request("?", 1), reason_unknown="version_without_name", valid_by_kip=None),
    "asked for too much": case(av(0, 9, error=35), reason_unknown="version_rejected"),
    "fell back to v0, as nothing was offered": case(av(0, 9, error=35), av(1, 0), request("?", 2),
        reason_unknown="version_rejected"),
    "2.3 takes no name": case(av(0, error=35, **OF_STRUCTS), av(1, 2, **OF_STRUCTS), request("?", 2, **OF_STRUCTS),
        reason_unknown="version_rejected"),
    "fell back to what was offered, which has no name": case(av(0, 4, error=35, response=offer(0, 2)), av(1, 2),
        request("?", 2), reason_unknown="version_rejected"),
    "fell back to v0, although a version with a name was offered": case(av(0, 4, error=35, response=offer(0, 3)),
        av(1, 0), request("?", 2), reason_unknown="version_without_name"),
    "fell back from a version without a name": case(av(0, 2, error=35, response=offer(0, 1)), av(1, 1), request("?", 2),
        reason_unknown="version_without_name"),
    "fell back to v0 after another error": case(av(0, 3, error=42, name="kgo"), av(1, 0),
        reason_unknown="invalid_request"),
    "0.11 takes no name": case(av(0, log_generation="api_key_struct", **NOT_LOGGED),
        av(1, 1, log_generation="api_key_struct", **NOT_LOGGED), reason_unknown="version_rejected"),
    "2.4 asked before the log": case(request("?", 0, correlation_id=70, **OF_STRUCTS), reason_unknown="not_logged"),
    "2.4 never asked": case(request("?", 0, correlation_id=0, **OF_STRUCTS), reason_unknown="not_sent"),
    "2.4 asked without a name": case(av(0, 2, **OF_STRUCTS), request("?", 1, **OF_STRUCTS),
        reason_unknown="version_without_name"),
    "2.5 asked before the log": case(request("?", 0, correlation_id=70, log_generation="request_header_struct"),
        reason_unknown="not_observed"),
    "2.4 asked under SASL": case(request("?", 0, security_protocol="SASL_SSL", **OF_STRUCTS),
        reason_unknown="not_logged"),
    "0.10 asked before the log": case(request("?", 0, correlation_id=70, log_generation="api_key_struct", **NOT_LOGGED),
        reason_unknown="not_observed"),
    "a bad name": case(av(0, name="my client", error=42), request("?", 1), reason_unknown="invalid_name",
        valid_by_kip=False, valid_by_broker=False, invalid_software_texts=["my client"],
        broken="invalid_software_name"),
    "a bad version": case(av(0, name="kgo", release="1_0", error=42), valid_by_kip=False,
        invalid_software_texts=["1_0"], reason_unknown="invalid_name", broken="invalid_software_version"),
    "a good name, refused for another reason": case(av(0, name="kgo", error=42), valid_by_broker=True,
        reason_unknown="invalid_request"),
    "a good name, refused after a bad one was": case(av(0, name="my client", error=42), av(1, name="kgo", error=42),
        reason_unknown="invalid_name", broken="invalid_software_name"),
    "an empty name": case(av(0, name="", error=42), valid_by_kip=False, invalid_software_texts=[""],
        broken="invalid_software_name"),
    "good by the KIP only": case(av(0, name="-x", error=42), valid_by_kip=True, valid_by_broker=False,
        broken="invalid_software_name"),
    "a newline at the end": case(av(0, name="x\\n", error=42), valid_by_kip=False, invalid_software_texts=["x\n"],
        broken="invalid_software_name"),
    "a good name in a request that failed otherwise": case(av(0, name="kgo", error=-1), name="kgo", valid_by_kip=True,
        reason_unknown=None),
    "a good name in a request to another cluster": case(av(0, 5, name="kgo", error=129), name="kgo",
        api_versions_outcome="rejected_other"),
    "2.4 keeps the name of a request that failed otherwise": case(av(0, name="kgo", error=-1, **NOT_LOGGED),
        request("?", 1, **NOT_LOGGED), name="kgo"),
    "another name in a request that failed otherwise": case(av(0, name="kgo"), av(1, name="sarama", error=-1, **KGO),
        name="sarama", broken="software_name_changed"),
    "changed on 2.4, after a request that failed otherwise": case(av(0, name="kgo", **NOT_LOGGED),
        av(1, name="sarama", error=-1, **NOT_LOGGED), av(2, name="sarama", **NOT_LOGGED), name="sarama",
        broken="software_name_changed"),
    "reset by v0": case(av(0, name="kgo"), av(1, 0, **KGO), request("?", 2), name="unknown",
        reason_unknown="reset_by_older_version", broken="software_name_reset"),
    "a refused v0 resets nothing": case(av(0, name="kgo"), av(1, 0, error=35, **KGO), name="kgo", resets=0),
    "changed": case(av(0, name="kgo"), av(1, name="sarama", release="2", **KGO), name="sarama", version="2", resets=0,
        broken="software_name_changed"),
    "another version": case(av(0, name="kgo"), av(1, name="kgo", release="2", **KGO), broken="software_name_changed"),
    "said again": case(av(0, name="kgo"), av(1, name="kgo", **KGO), changes=0),
    "changed on 2.4": case(av(0, name="kgo", **NOT_LOGGED), request("?", 1, **NOT_LOGGED),
        av(2, name="sarama", release="2", **NOT_LOGGED), av(3, name="kgo", **NOT_LOGGED), name="kgo", resets=0,
        broken={"software_name_changed": 2}),
    "said again on 2.4": case(av(0, name="kgo", **NOT_LOGGED), av(1, name="kgo", **NOT_LOGGED), changes=0),
    "2.4 has no name to lose": case(av(0, name="kgo", **NOT_LOGGED), av(1, 0, **NOT_LOGGED), name="kgo", resets=0,
        reason_unknown=None),
    "a body that is no JSON": case(av(0, request="{oops"), name="unknown", valid_by_kip=None),
    "forwarding": case(request("?", 0, is_forwarded=True, **KGO), name="unknown", reason_unknown=None,
        policy_verdict=None),
    "of a broker": case(av(0, name="my client", error=42), request("?", 1, "UPDATE_METADATA", client_id="1"),
        role="broker", invalid_software_texts=["my client"], valid_by_kip=None, valid_by_broker=None, resets=None,
        changes=None),
}  # fmt: skip
MESSAGES = {
    "invalid_software_name": ("a bad name", "software name 'my client'"),
    "invalid_software_version": ("a bad version", "software version '1_0'"),
    "software_name_reset": ("reset by v0", "ApiVersions v0 after the name 'kgo'"),
    "software_name_changed": ("changed on 2.4", "'sarama' '2' after 'kgo' '1'"),
}  # fmt: skip


@pytest.mark.kip("KIP-511", 16, case="named by its last request")
@pytest.mark.kip("KIP-511", 17, case="named before SASL")
@pytest.mark.kip("KIP-511", 18, case="changed on 2.4")
@pytest.mark.kip("KIP-511", 19, case="good by the KIP only")
@pytest.mark.kip("KIP-511", 20, case="an empty name")
@pytest.mark.kip("KIP-511", 21, case="a bad name")
@pytest.mark.kip("KIP-511", 28, case="a good name in a request that failed otherwise")
@pytest.mark.kip("KIP-511", 28, case="2.4 keeps the name of a request that failed otherwise")
@pytest.mark.kip("KIP-511", 28, case="another name in a request that failed otherwise")
@pytest.mark.kip("KIP-1313", 16, case="a good name, refused for another reason")
@pytest.mark.parametrize("name", CASES)
def test_it_tells_the_software(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "client_software")


def test_its_violations_say_what_was_found(judged: Judged) -> None:
    assert_messages(judged, MESSAGES)
    assert {row["policy_verdict"] for rows in judged.connections.values() for row in rows} == {None}
