"""What is asked of a session that may refuse to answer."""

from typing import Any

import pytest

from kafka_clientinfo.spark import features
from kafka_clientinfo.spark.session_conf import set_for, set_where_allowed


class Conf:
    """The conf of a session that knows, and lets be set, one entry only."""

    def __init__(self) -> None:
        self.values = {"known": "1"}

    def get(self, key: str, default: str | None = None) -> str:
        self._check(key)
        return self.values[key]

    def set(self, key: str, value: str) -> None:
        self._check(key)
        self.values[key] = value

    def unset(self, key: str) -> None:
        self._check(key)
        del self.values[key]

    def _check(self, key: str) -> None:
        if key != "known":
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] {key}")


def test_a_local_cluster_is_no_single_process() -> None:
    """Rows that are checkpointed in one of its executors are lost with it."""
    masters = {"local": True, "local[2]": True, "local[*, 3]": True, "local-cluster[2,1,1024]": False}
    masters |= {"spark://local:7077": False}
    assert {master: features.is_one_process(master) for master in masters} == masters
    assert not features.is_one_process(None)


class Session:
    """A session without a driver's JVM."""

    def __init__(self) -> None:
        self.conf = Conf()

    @property
    def sparkContext(self) -> None:  # noqa: N802
        raise AttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED] sparkContext")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"[JVM_ATTRIBUTE_NOT_SUPPORTED] {name}")


def test_an_entry_that_is_not_told_has_its_default() -> None:
    spark: Any = Session()
    assert features.conf_value(spark, "known") == "1"
    assert features.conf_value(spark, "other") is None
    assert features.given_conf(spark) == {}


def test_entries_that_are_refused_are_left_alone() -> None:
    spark: Any = Session()
    with set_where_allowed(spark, {"known": "2", "other": "3"}):
        assert spark.conf.values == {"known": "2"}
    assert spark.conf.values == {"known": "1"}


def test_what_was_set_before_a_refusal_is_put_back() -> None:
    spark: Any = Session()
    with pytest.raises(RuntimeError, match="other"), set_for(spark, {"known": "2", "other": "3"}):
        pass
    assert spark.conf.values == {"known": "1"}
