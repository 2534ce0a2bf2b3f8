"""How relations are cached for a run, by what the session allows."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.spark.features import checkpointed, is_on_one_machine


class Rows:
    """Stands for a relation of a session on one machine, which may refuse to cache it."""

    def __init__(self, master: str, refusal: str = "") -> None:
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: master))
        self.refusal = refusal

    def _answer(self, how: str) -> str:
        if self.refusal:
            raise RuntimeError(self.refusal)
        return how

    def localCheckpoint(self) -> str:  # noqa: N802
        return self._answer("checkpoint")


@pytest.mark.parametrize("master", ["local[2]", "local"])
def test_one_machine_makes_a_checkpoint(master: str) -> None:
    rows: Any = Rows(master)
    assert (is_on_one_machine(rows.sparkSession), checkpointed(rows)) == (True, "checkpoint")


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", None])
def test_a_session_that_may_lose_executors_keeps_rows_twice(master: Any) -> None:
    rows: Any = RowsOfKryo(master)
    level: Any = checkpointed(rows)
    assert (is_on_one_machine(rows.sparkSession), level.replication) == (False, 2)


class RowsOfKryo(Rows):
    """Stands for a relation of a session on one machine whose serializer is Kryo, and whose Spark is no older than 4."""

    def __init__(self, master: str = "local[2]") -> None:
        super().__init__(master)
        conf = {"spark.master": master, "spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(get=conf.get))

    def localCheckpoint(self, eager: bool = True, storageLevel: Any = None) -> Any:  # noqa: N802, N803
        return storageLevel


def test_rows_are_kept_as_bytes_where_kryo_makes_them() -> None:
    level: Any = checkpointed(RowsOfKryo())  # type: ignore[arg-type]
    assert (level.useMemory, level.useDisk, level.deserialized, level.replication) == (True, True, False, 1)


def test_other_failures_are_told() -> None:
    rows: Any = Rows("local[2]", "no space left on device")
    with pytest.raises(RuntimeError, match="no space"):
        checkpointed(rows)


@pytest.mark.parametrize("refusal", ["[NOT_SUPPORTED] no.", "It is not supported.", "[NOT_IMPLEMENTED] no."])
def test_where_the_session_keeps_no_rows_none_are_kept(refusal: str) -> None:
    rows: Any = Rows("local[2]", refusal)
    assert checkpointed(rows) is None
