"""Excerpts of a cluster run as in the field: a server.log that comes later."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import run as pipeline
from tests.equality import assert_same_tables


@pytest.mark.long
def test_a_server_log_that_comes_later_changes_what_was_built(
    spark: Any, unpacked: Path, settings_of_the_run: Settings, tmp_path: Path
) -> None:
    """Also the refusals, which are in no request log, and what is concluded of connections by when the broker started."""
    for name in ("killed-and-restarted", "upgraded-under-its-client"):
        logs, late, whole = (tmp_path / name / one for one in ("broker-1", "late", "whole"))
        logs.mkdir(parents=True)
        files = sorted((unpacked / name).iterdir())
        first = [file for file in files if "server" not in file.name]
        for arrived, lake in ((first, late), (files, late), (files, whole)):
            for file in arrived:
                shutil.copy(file, logs)
            pipeline.run(spark, [str(logs)], str(lake), settings=settings_of_the_run)
        assert_same_tables(spark, late, whole)
