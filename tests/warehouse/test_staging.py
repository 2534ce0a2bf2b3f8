"""How relations are kept in tables beside those of a warehouse, where the session may keep them nowhere else."""

import stat
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging, cache

from ..spark.test_features import Rows


@pytest.mark.parametrize(
    "refusal",
    ["[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE", "persist is not supported", "[NOT_IMPLEMENTED] persist"],
)
def test_rows_that_the_session_may_not_keep_are_staged(refusal: str) -> None:
    rows: Any = Rows("local[2]", refusal)
    staging: Any = SimpleNamespace(keep=lambda rows: ("staged", rows))
    assert cache(rows, staging) == ("staged", rows)  # type: ignore[comparison-overlap]


class TestStaging:
    def it_keeps_rows_in_tables_of_the_run(self, spark: Any, tmp_path: Path) -> None:
        staging, folder = Staging(spark, Address(str(tmp_path))), tmp_path / "_staged"
        with closing(staging):
            staged = [staging.keep(spark.range(number)) for number in (2, 3)]
            assert [rows.count() for rows in staged] == [2, 3]
            assert len(list((folder / "0").iterdir())) == 2
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(folder.iterdir()) == []

    def it_removes_what_killed_runs_left_and_nothing_of_others(self, spark: Any, tmp_path: Path) -> None:
        for name in ("1", "10", "somebody's"):
            (tmp_path / "_staged" / name).mkdir(parents=True)
        with closing(Staging(spark, Address(str(tmp_path)))) as staging:
            staging.run = 9
            staging.keep(spark.range(1))
        assert {path.name for path in (tmp_path / "_staged").iterdir()} == {"10", "somebody's"}

    def it_passes_over_places_that_it_cannot_list(self) -> None:
        with closing(Staging(MagicMock(), Address("unknown://bucket/w"))) as staging:
            staging.keep(MagicMock())

    def it_touches_nothing_where_nothing_is_staged(self, tmp_path: Path) -> None:
        with closing(Staging(None, Address(str(tmp_path)))):  # type: ignore[arg-type]
            pass
        assert list(tmp_path.iterdir()) == []
