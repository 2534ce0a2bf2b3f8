"""How relations are kept for a run, by what the session allows."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.spark.caching import cached_in_memory, release


class Rows:
    """Stands for a relation of a session on one machine or on a cluster, which may refuse to keep it."""

    def __init__(self, master: str, refusal: str = "") -> None:
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: master))
        self.refusal = refusal

    def _answer(self, how: str) -> str:
        if self.refusal:
            raise RuntimeError(self.refusal)
        return how

    def localCheckpoint(self) -> str:  # noqa: N802
        return self._answer("checkpoint")

    def persist(self, level: Any) -> str:
        return self._answer("persisted")

    def unpersist(self) -> str:
        return self._answer("let go")


@pytest.mark.parametrize(
    ("master", "how"), [("local[2]", "checkpoint"), ("local", "checkpoint"), ("yarn", "persisted"), ("", "persisted")]
)
def test_it_keeps_rows_as_the_session_can(master: str, how: str) -> None:
    assert cached_in_memory(Rows(master)) == how  # type: ignore[arg-type, comparison-overlap]


class RowsOfKryo(Rows):
    """Stands for a relation of a session on one machine whose serializer is Kryo, and whose Spark is no older than 4."""

    def __init__(self) -> None:
        super().__init__("local[2]")
        conf = {"spark.master": "local[2]", "spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=conf.get))

    def localCheckpoint(self, eager: bool = True, storageLevel: Any = None) -> Any:  # noqa: N802, N803
        return storageLevel


def test_rows_are_kept_as_bytes_where_kryo_makes_them() -> None:
    level: Any = cached_in_memory(RowsOfKryo())  # type: ignore[arg-type]
    assert (level.useMemory, level.useDisk, level.deserialized) == (True, True, False)


@pytest.mark.parametrize("master", ["", "local[2]"])
def test_other_failures_are_told(master: str) -> None:
    rows: Any = Rows(master, "no space left on device")
    with pytest.raises(RuntimeError, match="no space"):
        cached_in_memory(rows)
    with pytest.raises(RuntimeError, match="no space"):
        release(rows)


@pytest.mark.parametrize("refusal", ["[NOT_SUPPORTED] no.", "It is not supported.", "[NOT_IMPLEMENTED] no."])
def test_where_the_session_keeps_no_rows_none_are_kept(refusal: str) -> None:
    rows: Any = Rows("local[2]", refusal)
    assert cached_in_memory(rows) is None
    release(rows)


def test_what_may_be_no_checkpoint_is_persisted() -> None:
    class Persisted(Rows):
        def localCheckpoint(self) -> str:  # noqa: N802
            raise RuntimeError("[NOT_IMPLEMENTED] localCheckpoint() is not implemented.")

    assert cached_in_memory(Persisted("local[2]")) == "persisted"  # type: ignore[arg-type, comparison-overlap]


def test_all_relations_are_released() -> None:
    released: list[str] = []
    relations: Any = [SimpleNamespace(unpersist=lambda name=name: released.append(name)) for name in "ab"]
    release(*relations)
    assert released == ["a", "b"]


@pytest.mark.parametrize("serializer", ["org.apache.spark.serializer.KryoSerializer", "JavaSerializer", None])
@pytest.mark.parametrize("kind", [Rows, RowsOfKryo])
def test_only_kryo_and_a_spark_that_takes_a_level_make_bytes(kind: type[Rows], serializer: str | None) -> None:
    rows = kind("local") if kind is Rows else RowsOfKryo()
    conf = {"spark.master": "local", "spark.serializer": serializer}
    rows.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: conf[key]))
    checkpoint: Any = cached_in_memory(rows)  # type: ignore[arg-type]
    if kind is Rows:
        assert checkpoint == "checkpoint"
    else:
        assert (checkpoint is not None) == str(serializer).endswith("KryoSerializer")
