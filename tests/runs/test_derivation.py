"""Each step makes one relation of others that exist, and what a part counts is counted once."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import derivation, steps
from kafka_clientinfo.runs.increments import Increment
from kafka_clientinfo.runs.steps import Step
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

PART = "broker_api_version_parts"


@pytest.mark.parametrize(
    ("until", "counted", "appended"),
    [(2, 1, {"a": 3, "b": 1}), (5, 5, {}), (None, 3, {"a": 2}), (None, None, {"a": 4, "b": 1}), (None, 5, {})],
    ids=[
        "what no build has counted",
        "nothing is new",
        "everything is built anew, and some requests are deleted",
        "nothing was counted before requests were deleted",
        "everything is built anew, and nothing is new",
    ],
)
def test_requests_are_counted_once(
    spark: Any, until: int | None, counted: int | None, appended: dict[str, int]
) -> None:
    """Where retention has deleted requests, the stored part says up to which time of ingestion it counts."""
    read = [("a", 1), ("a", 3 if until else 2), ("b", 3), ("a", 4), ("a", 5), ("a", 6)]
    requests = relation_of(spark, [(name, at(n)) for name, n in read], "broker string, ingested_at timestamp")
    stored = [] if counted is None else [(at(counted),), (at(counted - 1),)]
    tables = {
        "requests": requests.withColumn("principal", F.lit("p")),
        PART: relation_of(spark, stored, "ingested_at timestamp"),
    }
    written: dict[str, Any] = {}
    lake: Any = SimpleNamespace(
        staging=Staging(spark, Address("/nowhere")),
        state=State(retained_from=at(0)),
        read=tables.__getitem__,
        append=lambda name, made: written.update({row["broker"]: row["requests"] for row in made.collect()}),
        judged=SimpleNamespace(read=lambda: "rows"),
    )
    derived = derivation.Derivation(lake, Settings(), None if until is None else at(until), at(5), [], None)
    derived.relations = {"new_requests": derived._newer_than(derived.until), "settings": Settings()}
    derived.increment = Increment("ids", "requests")  # type: ignore[arg-type]

    def make(new_requests: Any) -> Any:
        sums = F.count("*").alias("requests"), F.max("ingested_at").alias("ingested_at")
        return new_requests.groupBy("broker").agg(*sums)

    derived._add_part(Step(PART, ("new_requests",), make))
    assert written == appended


def test_steps_begin_after_what_they_need() -> None:
    begun: list[str] = []
    derivation._derive_all(lambda step: begun.append(step.name), lambda name: nullcontext())
    place = begun.index
    assert sorted(begun) == sorted(steps.steps())
    assert all(
        place(need) < place(name) for name, step in steps.steps().items() for need in set(step.needs) & set(begun)
    )
    assert place("connections") < place("connection_groups") < place("connection_violations")


class Noted:
    """Rows that note what is made of them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def where(self, condition: Any) -> "Noted":
        return Noted(f"{self.name} where {condition}")

    def drop(self, column: str) -> "Noted":
        return Noted(f"{self.name} without {column}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noted) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def derivation_of(
    until: int | None, retained_from: int | None = None, judged: int | None = None
) -> tuple[Any, list[Any]]:
    """A derivation on a warehouse without tables, and what it does there."""
    done: list[Any] = []
    derived: Any = derivation.Derivation.__new__(derivation.Derivation)
    derived.until = None if until is None else at(until)
    derived.increment = SimpleNamespace(
        replaced="ids" if until or retained_from else None,
        earliest="earliest",
        requests="new",
        before="before",
        judged_before=judged,
    )
    derived.relations, derived.in_memory, derived.settings = {}, None, "settings"
    derived.committed = Noted("requests")
    derived.lake = SimpleNamespace(
        spark="session",
        address=Address("/lake"),
        staging="staging",
        state=State(retained_from=None if retained_from is None else at(retained_from)),
        read=lambda name: Noted(f"stored {name}"),
        read_snapshot=lambda name: Noted(f"snapshot of {name}"),
        replace_connections=lambda *what: done.append(what),
        overwrite=lambda name, rows: done.append((name, rows)),
        append=lambda name, rows: done.append(("added", name, rows)),
        judged=SimpleNamespace(
            read=lambda: "stored",
            append=lambda rows: done.append(("judged of new ids", rows.name)),
            overwrite=lambda rows: done.append(("all judged", rows.name)),
            replace=lambda rows: done.append(("judged of some ids", rows.name)),
        ),
    )
    return derived, done


@pytest.mark.parametrize(
    ("until", "retained_from", "judged", "how"),
    [
        (None, None, None, "all judged"),
        (None, 1, None, "all judged"),
        (2, None, None, "judged of some ids"),
        (2, 1, 3, "judged of some ids"),
        (2, None, 0, "judged of new ids"),
    ],
)
def test_a_later_run_finds_what_was_judged_of_every_id_that_may_go_on(
    until: int | None, retained_from: int | None, judged: int | None, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that reads on has judged only some ids; the others keep what earlier runs have judged."""
    derived, done = derivation_of(until, retained_from, judged)
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    derived._derive(Step("judged_requests", (), lambda: Noted("judged")))
    assert done == [(how, "judged where is_newest without is_newest")]
    assert derived.relations == {"judged_requests": Noted("judged")}


@pytest.mark.parametrize(("judged", "is_added"), [(None, False), (3, False), (0, True)])
def test_a_table_of_connections_gets_the_rows_of_those_that_are_recomputed(
    judged: int | None, is_added: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of new connections are added."""
    derived, done = derivation_of(2, None, judged)
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    derived._derive(Step("api_usage", (), lambda: Noted("made")))
    assert derived.relations == {"api_usage": Noted("made")}
    added = ("added", "api_usage", Noted("made"))
    assert done == [added if is_added else ("api_usage", Noted("made"), "ids", "earliest")]


def test_a_part_is_written_whole_if_all_that_it_counts_is_there() -> None:
    derived, done = derivation_of(None)
    derived._derive(Step(PART, (), lambda: Noted("made")))
    assert done == [(PART, Noted("made"))]
