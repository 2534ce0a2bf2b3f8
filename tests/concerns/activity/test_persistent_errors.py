"""Errors that do not go away: on which connections they are found; no rule on activity accuses an ordinary client.

The ordinary ones are those of the corpus of real brokers' logs, which last for a minute or less, but for three. So limits that count in
a single minute, far below the shipped ones, test more: only a hand-made client breaks these, which asks for versions that no
broker has until the broker hangs up.
"""

import tomllib
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.concerns.activity.rules import RULE_OF
from kafka_clientinfo.config.policy import ActivityLimits, Policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.protocol import ErrorCode
from tests.logs.excerpts import CORPUS
from tests.scanned import scanned

from .behaviour import Case, case, found, handshake, neighbour, requests, sent

PERSISTS, LEADER, WRONG = "persistent_error", "not_leader", "wrong_cluster_or_broker"
OPENING = handshake("x", 1)


def failing(per_minute: int = 4, minutes: int = 4, begin: float = 60, **given: Any) -> list[dict[str, Any]]:
    """Fetches of partitions that the broker does not lead; three a minute for three minutes are the limit."""
    return requests("x", per_minute, minutes, begin, **{"api": "FETCH", "errors": {6: 1}, **given})


def good(per_minute: int = 4, minutes: int = 4, begin: float = 60, **given: Any) -> list[dict[str, Any]]:
    return failing(per_minute, minutes, begin, **{"errors": {}, **given})


def of_x(*requests: list[dict[str, Any]], **more: Any) -> Case:
    return case(neighbour(), [OPENING], *requests, **more)


def error_cases() -> dict[str, Case]:
    return {ErrorCode(code).name: of_x(failing(errors={code: 2, 5: 1}), rules=[rule]) for code, rule in RULE_OF.items()}


CASES: dict[str, Case] = {
    "it asks a broker that does not lead": of_x(failing(), rules=[LEADER]),
    "other requests succeed": of_x(failing(), good(api="METADATA"), rules=[LEADER]),
    "it worked before": of_x(good(begin=2, minutes=1), failing(begin=70), rules=[LEADER]),
    "it works again": of_x(failing(begin=70), good(30, begin=320), rules=[LEADER]),
    "two APIs": of_x(failing(), failing(api="PRODUCE", begin=75), rules=[LEADER]),
    "two errors": of_x(failing(), failing(api="METADATA", errors={3: 1}), rules=[LEADER, PERSISTS]),
    "two errors of one rule": of_x(failing(minutes=2, begin=70), failing(minutes=2, begin=190, errors={74: 1}),
        rules=[LEADER]),
    "as long and as many as the limits": of_x(
        [sent("x", 60 + 22.5 * n, "FETCH", 60 + n, errors={6: 1}) for n in range(9)], rules=[LEADER]),
    "one answer says so": case(neighbour(), [handshake("x", 1, error_code=104, errors={104: 1})], rules=[WRONG]),
    "it is told to bootstrap anew": case(neighbour(), [handshake("x", 1, error_code=129, errors={129: 1})]),
    **error_cases(),
    # the same on the face of it, and innocent
    "a leader moves": of_x(failing(60, 1), good(begin=120)),
    "a coordinator is away for two minutes": of_x(failing(60, 2, errors={16: 1}, api="COMMIT"),
        good(begin=180, api="COMMIT")),
    "it worked before, and works again": of_x(good(begin=2, minutes=1), failing(begin=70), good(begin=320)),
    "one topic of many": of_x(failing(), good(1, begin=61)),
    "an exporter, once a minute": case(neighbour(60), [OPENING], failing(1, 50, errors={29: 3}, api="METADATA")),
    "every few minutes": case(neighbour(30), [OPENING], failing(6, 1), good(6, 1, 120), failing(6, 1, 600),
        good(6, 1, 700), failing(6, 1, 1200)),
    "other errors": of_x(failing(errors={5: 1, 7: 1, 14: 1})),
    "no error": of_x(good()),
    "no response is logged": of_x(failing(errors=None)),
    "a log at INFO": case(neighbour(log_level="INFO"), failing(log_level="INFO")),
    "a log at INFO, and one answer says so": case(neighbour(log_level="INFO"),
        [handshake("x", 1, error_code=104, errors={104: 1}, log_level="INFO")]),
    "a log that leaves out requests": of_x(failing(), omits=True),
    "a broker": case(neighbour(), [sent("x", 2, "UPDATE_METADATA", client_id="broker-1-x")],
        failing(client_id="broker-1-x")),
    "a follower": of_x(failing(replica_id=2)),
    "forwarded requests": of_x(failing(is_forwarded=True)),
}  # fmt: skip
SAID = "FETCH requests, 100 % of them at that time, were answered with"
MESSAGES = {
    LEADER: ("it asks a broker that does not lead", f"16 {SAID} 6 NOT_LEADER_OR_FOLLOWER"),
    WRONG: ("one answer says so", f"1 {SAID} 104 INCONSISTENT_CLUSTER_ID".replace("FETCH", "API_VERSIONS")),
    PERSISTS: ("UNKNOWN_TOPIC_OR_PARTITION", f"16 {SAID} 3 UNKNOWN_TOPIC_OR_PARTITION"),
}


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> dict[str, dict[str, Any]]:
    return found(rules_session, CASES, (PERSISTS, LEADER, WRONG))


@pytest.mark.parametrize("name", CASES)
def test_an_error_that_does_not_go_away_is_found_and_nothing_else(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert set(judged[name]) == CASES[name].rules


def test_a_finding_names_the_api_and_the_error(judged: dict[str, dict[str, Any]]) -> None:
    for rule, (name, message) in MESSAGES.items():
        row = judged[name][rule]
        assert row["message"] == f"{message}; {rules()[rule].asks}"
        assert (row["client_id"], row["connection_id"], row["opened_seq"]) == ("app", "x", 0)


@pytest.mark.parametrize("name", ["it worked before", "two errors of one rule"])
def test_an_example_is_the_first_request_with_the_error(judged: dict[str, dict[str, Any]], name: str) -> None:
    row = judged[name][LEADER]
    assert row["occurrences"] == 16
    assert (row["example"]["logged_at"], row["example"]["correlation_id"]) == (row["first_at"], 70)


def test_errors_of_two_apis_are_one_finding(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["two APIs"][LEADER]
    assert row["occurrences"] == 32
    assert "16 FETCH requests" in row["message"]
    assert "16 PRODUCE requests" in row["message"]
    assert row["example"]["logged_at"] == row["first_at"]
    assert (row["last_at"] - row["first_at"]).total_seconds() == 240


RULES = set(tomllib.loads((resources.schemas() / "rules" / "activity.toml").read_text("utf-8")))
RUNS = sorted(path for path in CORPUS.glob("*") if path.is_dir())
LOW = ActivityLimits(
    minutes=1, short_connections_per_minute=10, requests_per_minute=60, times_median=3, requests_per_minute_always=200,
    errors_per_minute=2, errors_percent=60, throttled_percent=1,
)  # fmt: skip
HAND_MADE = {"0.11.0.3-plaintext": {("reconnect_storm", "c-unsup")}}


def accused(logs: Any, limits: ActivityLimits) -> set[tuple[str, str]]:
    tables = scanned([logs], Settings(policy=Policy(activity=limits)), "violations")
    rows = tables.query("SELECT rule, client_id FROM {violations}").rows
    return {(rule, client_id) for rule, client_id in rows if rule in RULES}


@pytest.mark.oracle
@pytest.mark.skipif(not RUNS, reason=f"no logs in {CORPUS}: the corpus is not part of the repository")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_no_ordinary_client_is_accused(run: Any) -> None:
    assert accused(run, ActivityLimits()) == set()
    assert accused(run, LOW) == HAND_MADE.get(run.name, set())
