"""The rules on activity accuse no ordinary client of the corpus of real brokers' logs.

These logs last for a minute or less, but for three. So limits that count in a single minute, far below the shipped ones,
test more: only a hand-made client breaks these, which asks for versions that no broker has until the broker hangs up.
"""

import tomllib
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.config.policy import ActivityLimits, Policy
from kafka_clientinfo.config.settings import Settings
from tests.logs.excerpts import CORPUS
from tests.scanned import scanned

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
