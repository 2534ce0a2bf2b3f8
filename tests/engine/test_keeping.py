"""How relations are kept for a run, by what the session allows."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.engine import kept, release


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
    assert kept(Rows(master)) == how  # type: ignore[arg-type, comparison-overlap]


@pytest.mark.parametrize("refusal", ["[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE", "persist is not supported"])
def test_rows_that_may_not_be_kept_are_computed_again(refusal: str) -> None:
    rows: Any = Rows("", refusal)
    assert kept(rows) is rows
    release(rows)


def test_other_failures_are_told() -> None:
    rows: Any = Rows("", "no space left on device")
    with pytest.raises(RuntimeError, match="no space"):
        kept(rows)
    with pytest.raises(RuntimeError, match="no space"):
        release(rows)
