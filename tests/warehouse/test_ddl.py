"""Delta's SQL without a session: which errors mean that there is no table, and which tables are small."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.warehouse import ddl


@pytest.mark.parametrize(
    "sign",
    [
        "PATH_NOT_FOUND",
        "DELTA_MISSING_DELTA_TABLE",
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_PATH_DOES_NOT_EXIST",
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
    ],
)
def test_a_table_that_is_missing_is_no_error(sign: str) -> None:
    def refuse() -> None:
        raise RuntimeError(f"[{sign}] x")

    assert ddl.unless_missing(refuse) is None
    sign = "PERMISSION_DENIED"
    with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
        ddl.unless_missing(refuse)


@pytest.mark.parametrize(("size", "is_small"), [(None, True), ("16777215", True), ("16777216", False)])
def test_a_table_is_small_below_a_number_of_bytes(
    size: str | None, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddl, "detail", lambda *table: size and {"sizeInBytes": size} if table == ("s", "t") else 0)
    assert ddl.is_small("s", "t") is is_small  # type: ignore[arg-type]


@pytest.mark.parametrize(("values", "is_small"), [(0, True), ((4 << 20) - 1, True), (4 << 20, False)])
def test_a_table_with_a_known_number_of_values_is_not_asked_for(
    values: int, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddl, "detail", lambda *_: pytest.fail("Spark was asked"))
    assert ddl.is_small("s", "t", values) is is_small  # type: ignore[arg-type]


@pytest.mark.parametrize(("limit", "end"), [(None, ""), (2, " LIMIT 2")])
def test_the_newest_commit_comes_first(limit: int | None, end: str) -> None:
    said: list[Any] = []
    commits = [{"version": version} for version in ("9", "10", "8")]

    def answer(statement: str) -> Any:
        said.append(statement)
        return SimpleNamespace(collect=lambda: commits)

    spark: Any = SimpleNamespace(sql=answer)
    assert [row["version"] for row in ddl.history(spark, "t", limit)] == ["10", "9", "8"]
    assert said == [f"DESCRIBE HISTORY t{end}"]
