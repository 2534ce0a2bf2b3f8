"""Each answer to ApiVersions, some 4 kB of JSON, is parsed once, however many columns are made of it."""

from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections import judged_requests
from kafka_clientinfo.engine.sizing import set_for
from kafka_clientinfo.settings import Settings
from tests.frames import api_versions, log


@pytest.mark.usefixtures("free_conf")
def test_an_answer_is_parsed_once(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    requests, files = log(spark, [api_versions("?", 0, 3)])
    # Behind an exchange, as Spark computes what it makes of rows of its own while it plans.
    judged = judged_requests(requests.repartition(1), files, Settings(), concerns())
    with set_for(spark, {"spark.sql.debug.maxToStringFields": "1000"}):
        judged.explain()
    assert capsys.readouterr().out.count("from_json(") == 1
