"""KIP-1313's caching of client ids: what the first request fixed, what was sent again, and who sends another one."""

from typing import Any

import pytest

from tests.concerns.cases import Judged, assert_case, assert_messages, of_columns
from tests.frames import request

JUDGED_COLUMNS = (
    "client_id_same client_id_null client_id_other other_client_ids client_id_redundant_bytes instance_id_bytes"
)
NOT_JUDGED = dict.fromkeys([*JUDGED_COLUMNS.split(), "client_id_verdict"])
TEXT_LOG, V3 = {"log_generation": "api_key_struct"}, {"header_version": 3}
SASL = {"security_protocol": "SASL_SSL"}
SENT_ONCE = {"verdict": "sent_once"}
LATE = 20
"""Seconds into the log: a connection that is first heard of then may have begun before it."""


def sends(*client_ids: str | None, seconds: int = 0, **given: Any) -> list[dict[str, Any]]:
    """A connection whose requests carry these client ids."""
    return [request("?", n, client_id=client_id, **given) for n, client_id in enumerate(client_ids, seconds)]


case = of_columns("client_id_")
CASES = {
    "the same id always": case(sends("app", "app", "app"), client_id="app", same=2, redundant_bytes=6,
        instance_id_bytes=48, other_client_ids=[], verdict="unchanged"),
    "one request": case(sends("app"), same=0, verdict="unchanged"),
    "null after the first": case(sends("app", None, **V3), null=1, redundant_bytes=0, **SENT_ONCE),
    "empty after the first": case(sends("app", "", **V3), null=1, **SENT_ONCE),
    "sent again under header v3": case(sends("app", "app", None, **V3), same=1, same_header_v3=1, redundant_bytes=3,
        **SENT_ONCE),
    "lost under an older header": case(sends("app", None, **V3), sends(None, seconds=2),
        sends(None, seconds=3, api="SASL", **TEXT_LOG), null=3, verdict="lost_under_older_header",
        broken={"client_id_lost": 2}),
    "lost under header v2": case(sends("app", None, **V3), sends(None, seconds=2, header_version=2), null=2,
        verdict="lost_under_older_header", broken="client_id_lost"),
    "null under a header that is not known": case(sends("app", None, header_version=None), null=1, null_older_header=0,
        **SENT_ONCE),
    "sent again under an older header": case(sends("app", None, **V3), sends("app", seconds=2), same=1,
        same_header_v3=0, null_older_header=0, **SENT_ONCE),
    "null as a text log shows it": case(sends("app", "null", **TEXT_LOG), null=1, other=0,
        verdict="lost_under_older_header", broken="client_id_lost"),
    "no id on SASL, where the first requests are hidden": case(sends(None, None, **V3, **SASL), start="hidden_by_sasl",
        verdict="not_observed"),
    "no id where the log begins later": case(sends(None, None, seconds=LATE), start="before_log",
        verdict="not_observed"),
    "an id after none, and what came before is hidden": case(sends(None, "app", "app", **SASL), other=2,
        verdict="not_observed"),
    "two ids after none, and what came before is hidden": case(sends(None, "app", "other", **SASL), verdict="changed",
        broken={"client_id_changed": 2}),
    "two ids after the text null": case(sends("null", "app", "other", **TEXT_LOG, **SASL), verdict="changed",
        broken={"client_id_changed": 2}),
    "another id, and what came before is hidden": case(sends("app", "other", **SASL), verdict="changed",
        broken="client_id_changed"),
    "null at first and later the text null": case(sends(None, "null", None, "", **TEXT_LOG), same=3, other=0,
        redundant_bytes=0, verdict="none_sent"),
    "the text null at first and later null": case(sends("null", None, "null", **TEXT_LOG), other=0,
        verdict="none_sent"),
    "a client called null": case(sends("app", "null"), null=0, other_client_ids=["null"], verdict="changed",
        broken="client_id_changed"),
    "other ids": case(sends("app", "z\x1b[2J", "y", "z\x1b[2J"), client_id="app", other_client_ids=["y", "z\x1b[2J"],
        verdict="changed", broken={"client_id_changed": 3}),
    "another id under header v3": case(sends("app", "other", **V3), verdict="changed", broken="client_id_changed"),
    "another id under an older header than the first": case(sends("app", None, **V3), sends("other", seconds=2),
        verdict="changed", broken="client_id_changed"),
    "no id at all": case(sends(None, ""), same=1, null=0, verdict="none_sent"),
    "an id after none": case(sends(None, "app"), verdict="changed", broken="client_id_changed"),
    "bytes, not characters": case(sends("中", "中"), redundant_bytes=3),
    "like a broker's": case(sends("broker-1-fetcher-0", remote_host="10.0.0.8"), role="client",
        broken="broker_like_client_id"),
    "like a broker's, from a host that is masked": case(sends("broker-1-fetcher-0", remote_host=None), role="client"),
    "like a broker's, and only asks for versions": case(
        sends("broker-1-fetcher-0", "broker-1-fetcher-0", api="AV", version=3, remote_host="10.0.0.8"), role="client"),
    "like a broker's, and asks for versions first": case(
        sends("broker-1-fetcher-0", api="AV", version=3, remote_host="10.0.0.8"),
        sends("broker-1-fetcher-0", seconds=1, remote_host="10.0.0.8"), role="client", broken="broker_like_client_id"),
    "a broker": case(request("?", 0, "UPDATE_METADATA", client_id="1"), request("?", 1, client_id="2"), role="broker",
        client_id="1", **NOT_JUDGED),
    "forwarding": case(sends("app", "other", is_forwarded=True), role="forwarding", **NOT_JUDGED),
}  # fmt: skip
MESSAGES = {
    "client_id_changed": ("other ids", "client id 'z\ufffd[2J' after 'app'"),
    "client_id_lost": ("lost under an older header", "METADATA v0 with header v1 has no client id after 'app'"),
    "broker_like_client_id": ("like a broker's", "client id 'broker-1-fetcher-0' from 10.0.0.8"),
}
AFTER_NONE = "client id 'app' after none in the first logged request"


@pytest.mark.kip("KIP-1313", 17, case="no id on SASL, where the first requests are hidden")
@pytest.mark.kip("KIP-1313", 18, case="sent again under header v3")
@pytest.mark.kip("KIP-1313", 19, 51, case="lost under an older header")
@pytest.mark.kip("KIP-1313", 20, case="other ids")
@pytest.mark.kip("KIP-1313", 52, case="the same id always")
@pytest.mark.parametrize("name", CASES)
def test_it_compares_with_the_first_id(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "client_id")


def test_its_violations_say_what_was_found(judged: Judged) -> None:
    assert_messages(judged, MESSAGES)
    for name in ("two ids after none, and what came before is hidden", "two ids after the text null"):
        assert_messages(judged, {"client_id_changed": (name, AFTER_NONE)})
    found = judged.violations["other ids"]["client_id_changed"]
    assert (found["example"]["correlation_id"], found["first_at"].second, found["last_at"].second) == (1, 1, 3)


# a rule and connections that break it, and whether KIP-1313 binds these
BINDING = {
    ("client_id_changed", "other ids"): False,
    ("client_id_changed", "another id under header v3"): True,
    ("client_id_changed", "another id under an older header than the first"): True,
    ("client_id_lost", "lost under an older header"): True,
    ("client_id_lost", "null as a text log shows it"): False,
}


@pytest.mark.parametrize(("rule", "name"), BINDING)
def test_a_kip_that_does_not_bind_a_client_is_not_cited_against_it(judged: Judged, rule: str, name: str) -> None:
    found = judged.violations[name][rule]
    said = ("KIP-1313", "warning", "either") if BINDING[rule, name] else (None, "info", "nobody")
    assert (found["kip"], found["severity"], found["blames"]) == said
