"""How the judged requests are planned: what a request costs may not depend on the other requests of its connection."""

import re
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections import judged_requests
from kafka_clientinfo.engine.sizing import set_for
from kafka_clientinfo.settings import Settings
from tests.frames import api_versions, log


@pytest.fixture
def plan(spark: Any, free_conf: None, capsys: pytest.CaptureFixture[str]) -> str:
    requests, files = log(spark, [api_versions("?", 0, 3)])
    # Behind an exchange, as Spark computes what it makes of rows of its own while it plans.
    judged = judged_requests(requests.repartition(1), files, Settings(), concerns())
    with set_for(spark, {"spark.sql.debug.maxToStringFields": "1000"}):
        judged.explain()
    return capsys.readouterr().out


def test_an_answer_is_parsed_once(plan: str) -> None:
    """It is some 4 kB of JSON, and many columns are made of it."""
    assert plan.count("from_json(") == 1


def test_no_request_takes_along_a_list_of_what_came_before_it(plan: str) -> None:
    """A client makes as many connections of one id as it likes; with lists of them, 40,000 took minutes."""
    assert "Window" in plan
    assert "collect_" not in plan


def test_requests_are_sorted_by_a_number_first(plan: str) -> None:
    """Spark compares the first column of a sort without looking at the rows; cluster and broker are the same in most."""
    assert "Sort [id_hash" in plan


def test_windows_carry_few_texts(plan: str) -> None:
    """Each text is read and copied at every step of every row; those that no window needs by themselves lie in a struct."""
    texts = {"cluster", "broker", "file_id", "principal", "client_id", "client_software_name", "remote_host"}
    windows = [line for line in plan.splitlines() if "Window [lag(" in line]
    assert len(windows) == 1
    assert not [text for text in texts if f"lag({text}#" in plan]
    shuffled = next(line for line in plan.splitlines() if "AS id_hash#" in line)
    assert not [text for text in texts if re.search(rf"[\[ ]{text}#\d+[,\]]", shuffled)]
