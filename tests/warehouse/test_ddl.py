"""Delta's SQL without a session: which errors mean that there is no table, and which tables are small."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.address import Address

SIGNS = (
    "PATH_NOT_FOUND DELTA_MISSING_DELTA_TABLE DELTA_TABLE_NOT_FOUND DELTA_PATH_DOES_NOT_EXIST TABLE_OR_VIEW_NOT_FOUND "
    "SCHEMA_NOT_FOUND"
)


def test_a_table_that_is_missing_is_no_error() -> None:
    def refused(sign: str) -> Any:
        def refuse() -> None:
            raise RuntimeError(f"[{sign}] x")

        return ddl.unless_missing(Address("s3://lake"), "t", refuse)

    assert [refused(sign) for sign in SIGNS.split()] == [None] * 6
    with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
        refused("PERMISSION_DENIED")


@pytest.mark.parametrize(
    ("commits", "rows"),
    [
        ([{"userMetadata": "mine", "operationMetrics": {"numOutputRows": "5"}}], 5),
        ([{"userMetadata": "another's", "operationMetrics": {"numOutputRows": "5"}}], None),
        ([{"userMetadata": "mine", "operationMetrics": {}}], None),
        ([{"userMetadata": "mine", "operationMetrics": None}], None),
        ([], None),
    ],
)
def test_the_newest_commit_says_how_many_rows_it_wrote(
    monkeypatch: pytest.MonkeyPatch, commits: list[dict[str, Any]], rows: int | None
) -> None:
    monkeypatch.setattr(ddl, "commits", lambda spark, address, name: iter(commits))
    assert ddl.written_rows(None, Address("/lake"), "t", "mine") == rows  # type: ignore[arg-type]


def test_the_newest_version_is_that_of_the_last_local_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "history", lambda spark, table, limit: [{"version": 7}, {"version": 6}][:limit])
    log = tmp_path / "_delta_log"
    log.mkdir()
    spark: Any = SimpleNamespace(sql=lambda text: text)

    def version(folder: Path | None) -> str:
        monkeypatch.setattr(ddl, "log_folder", lambda *_: folder)
        return str(ddl.snapshot(spark, Address("/lake"), "t")).rpartition(" ")[2]

    assert version(None) == version(tmp_path) == "7"
    for name in (f"{9:020}.json", f"{10:020}.json", f"{11:020}.json.tmp", f"{12:020}.checkpoint.json", f"{13:020}.crc"):
        (log / name).touch()
    assert version(tmp_path) == "10"
