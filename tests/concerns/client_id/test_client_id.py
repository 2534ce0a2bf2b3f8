"""KIP-1313's caching of client ids: what the first request fixed, what was sent again, and who sends another one."""

from typing import Any

import pytest

from tests.concerns.cases import Case, Judged, assert_case, assert_message
from tests.frames import request

JUDGED_COLUMNS = (
    "client_id_same",
    "client_id_null",
    "client_id_other",
    "other_client_ids",
    "client_id_redundant_bytes",
    "instance_id_bytes",
    "client_id_verdict",
)
TEXT_LOG = {"log_generation": "api_key_struct"}


V3 = {"header_version": 3}
SASL = {"security_protocol": "SASL_SSL"}
SENT_ONCE = {"client_id_verdict": "sent_once"}
LATE = 20
"""Seconds into the log: a connection that is first heard of then may have begun before it."""


def sends(*client_ids: str | None, seconds: int = 0, **given: Any) -> list[dict[str, Any]]:
    """A connection whose requests carry these client ids."""
    return [request("?", n, client_id=client_id, **given) for n, client_id in enumerate(client_ids, seconds)]


CASES: dict[str, Case] = {
    "the same id always": Case(
        sends("app", "app", "app"),
        {
            "client_id": "app",
            "client_id_same": 2,
            "client_id_redundant_bytes": 6,
            "instance_id_bytes": 48,
            "other_client_ids": [],
            "client_id_verdict": "unchanged",
        },
    ),
    "one request": Case(sends("app"), {"client_id_same": 0, "client_id_verdict": "unchanged"}),
    "null after the first": Case(
        sends("app", None, **V3), {"client_id_null": 1, "client_id_redundant_bytes": 0} | SENT_ONCE
    ),
    "empty after the first": Case(sends("app", "", **V3), {"client_id_null": 1} | SENT_ONCE),
    "sent again under header v3": Case(
        sends("app", "app", None, **V3),
        {"client_id_same": 1, "client_id_same_header_v3": 1, "client_id_redundant_bytes": 3} | SENT_ONCE,
    ),
    "lost under an older header": Case(
        [*sends("app", None, **V3), *sends(None, seconds=2), *sends(None, seconds=3, api="SASL", **TEXT_LOG)],
        {"client_id_null": 3, "client_id_null_older_header": 2, "client_id_verdict": "lost_under_older_header"},
        {"client_id_lost": 2},
    ),
    "lost under header v2": Case(
        [*sends("app", None, **V3), *sends(None, seconds=2, header_version=2)],
        {"client_id_null": 2, "client_id_null_older_header": 1, "client_id_verdict": "lost_under_older_header"},
        {"client_id_lost": 1},
    ),
    "null under a header that is not known": Case(
        sends("app", None, header_version=None), {"client_id_null": 1, "client_id_null_older_header": 0} | SENT_ONCE
    ),
    "sent again under an older header": Case(
        [*sends("app", None, **V3), *sends("app", seconds=2)],
        {"client_id_same": 1, "client_id_same_header_v3": 0, "client_id_null_older_header": 0} | SENT_ONCE,
    ),
    "null as a text log shows it": Case(
        sends("app", "null", **TEXT_LOG),
        {"client_id_null": 1, "client_id_other": 0, "client_id_verdict": "lost_under_older_header"},
        {"client_id_lost": 1},
    ),
    "no id on SASL, where the first requests are hidden": Case(
        sends(None, None, **V3, **SASL), {"start": "hidden_by_sasl", "client_id_verdict": "not_observed"}
    ),
    "no id where the log begins later": Case(
        sends(None, None, seconds=LATE), {"start": "before_log", "client_id_verdict": "not_observed"}
    ),
    "an id after none, and what came before is hidden": Case(
        sends(None, "app", "app", **SASL), {"client_id_other": 2, "client_id_verdict": "not_observed"}
    ),
    "two ids after none, and what came before is hidden": Case(
        sends(None, "app", "other", **SASL),
        {"client_id_other": 2, "client_id_verdict": "changed"},
        {"client_id_changed": 2},
    ),
    "two ids after the text null, and what came before is hidden": Case(
        sends("null", "app", "other", **TEXT_LOG, **SASL), {"client_id_verdict": "changed"}, {"client_id_changed": 2}
    ),
    "another id, and what came before is hidden": Case(
        sends("app", "other", **SASL), {"client_id_verdict": "changed"}, {"client_id_changed": 1}
    ),
    "null at first and later the text null": Case(
        sends(None, "null", None, "", **TEXT_LOG),
        {"client_id_same": 3, "client_id_other": 0, "client_id_redundant_bytes": 0, "client_id_verdict": "none_sent"},
    ),
    "the text null at first and later null": Case(
        sends("null", None, "null", **TEXT_LOG), {"client_id_other": 0, "client_id_verdict": "none_sent"}
    ),
    "a client called null": Case(
        sends("app", "null"),
        {"client_id_null": 0, "client_id_other": 1, "other_client_ids": ["null"], "client_id_verdict": "changed"},
        {"client_id_changed": 1},
    ),
    "other ids": Case(
        sends("app", "z\x1b[2J", "y", "z\x1b[2J"),
        {
            "client_id": "app",
            "client_id_other": 3,
            "other_client_ids": ["y", "z\x1b[2J"],
            "client_id_verdict": "changed",
        },
        {"client_id_changed": 3},
    ),
    "another id under header v3": Case(
        sends("app", "other", **V3), {"client_id_verdict": "changed"}, {"client_id_changed": 1}
    ),
    "another id under an older header than the first": Case(
        [*sends("app", None, **V3), *sends("other", seconds=2)],
        {"client_id_verdict": "changed"},
        {"client_id_changed": 1},
    ),
    "no id at all": Case(sends(None, ""), {"client_id_same": 1, "client_id_null": 0, "client_id_verdict": "none_sent"}),
    "an id after none": Case(
        sends(None, "app"), {"client_id_other": 1, "client_id_verdict": "changed"}, {"client_id_changed": 1}
    ),
    "bytes, not characters": Case(sends("中", "中"), {"client_id_redundant_bytes": 3}),
    "like a broker's": Case(
        sends("broker-1-fetcher-0", remote_host="10.0.0.8"), {"role": "client"}, {"broker_like_client_id": 1}
    ),
    "like a broker's, from a host that is masked": Case(
        sends("broker-1-fetcher-0", remote_host=None), {"role": "client"}
    ),
    "like a broker's, and only asks for versions": Case(
        sends("broker-1-fetcher-0", "broker-1-fetcher-0", api="AV", version=3, remote_host="10.0.0.8"),
        {"role": "client"},
    ),
    "like a broker's, and asks for versions first": Case(
        [
            *sends("broker-1-fetcher-0", api="AV", version=3, remote_host="10.0.0.8"),
            *sends("broker-1-fetcher-0", seconds=1, remote_host="10.0.0.8"),
        ],
        {"role": "client"},
        {"broker_like_client_id": 1},
    ),
    "a broker": Case(
        [request("?", 0, "UPDATE_METADATA", client_id="1"), request("?", 1, client_id="2")],
        {"role": "broker", "client_id": "1"} | dict.fromkeys(JUDGED_COLUMNS),
    ),
    "forwarding": Case(
        sends("app", "other", is_forwarded=True), {"role": "forwarding"} | dict.fromkeys(JUDGED_COLUMNS)
    ),
}
AFTER_NONE = "client id 'app' after none in the first logged request"
MESSAGES = {
    "client_id_changed": {
        "other ids": "client id 'z\ufffd[2J' after 'app'",
        "two ids after none, and what came before is hidden": AFTER_NONE,
        "two ids after the text null, and what came before is hidden": AFTER_NONE,
    },
    "client_id_lost": {"lost under an older header": "METADATA v0 with header v1 has no client id after 'app'"},
    "broker_like_client_id": {"like a broker's": "client id 'broker-1-fetcher-0' from 10.0.0.8"},
}


@pytest.mark.kip("KIP-1313", 17, case="no id on SASL, where the first requests are hidden")
@pytest.mark.kip("KIP-1313", 18, case="sent again under header v3")
@pytest.mark.kip("KIP-1313", 19, 51, case="lost under an older header")
@pytest.mark.kip("KIP-1313", 20, case="other ids")
@pytest.mark.kip("KIP-1313", 52, case="the same id always")
@pytest.mark.parametrize("name", CASES)
def test_it_compares_with_the_first_id(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "client_id")


@pytest.mark.parametrize("rule", MESSAGES)
def test_its_violations_say_what_was_found(judged: Judged, rule: str) -> None:
    for name, message in MESSAGES[rule].items():
        assert_message(judged, name, rule, message)


def test_the_first_other_id_is_the_example(judged: Judged) -> None:
    found = judged.violations["other ids"]["client_id_changed"]
    assert (found["example"]["correlation_id"], found["first_at"].second, found["last_at"].second) == (1, 1, 3)


# rule and a connection that breaks it: whether KIP-1313 binds, severity and whom it blames
BINDING = {
    ("client_id_changed", "other ids"): (False, "info", "nobody"),
    ("client_id_changed", "another id under header v3"): (True, "warning", "either"),
    ("client_id_changed", "another id under an older header than the first"): (True, "warning", "either"),
    ("client_id_lost", "lost under an older header"): (True, "warning", "either"),
    ("client_id_lost", "null as a text log shows it"): (False, "info", "nobody"),
}


@pytest.mark.parametrize("which", BINDING, ids=" ".join)
def test_a_kip_that_does_not_bind_a_client_is_not_cited_against_it(judged: Judged, which: tuple[str, str]) -> None:
    rule, name = which
    found = judged.violations[name][rule]
    binds, severity, blames = BINDING[which]
    assert (found["kip"], found["severity"], found["blames"]) == ("KIP-1313" if binds else None, severity, blames)
