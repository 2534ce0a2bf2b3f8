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


class Noted(str):
    """Rows that note what is made of them."""

    def where(self, condition: Any) -> "Noted":
        return Noted(f"{self} where {condition}")

    def drop(self, column: str) -> "Noted":
        return Noted(f"{self} without {column}")


def derived_as(step: Step, until: int | None, retained_from: int | None, judged: int | None) -> list[Any]:
    """What a derivation on a warehouse without tables does there to make a step's rows."""
    done: list[Any] = []
    derived: Any = derivation.Derivation.__new__(derivation.Derivation)
    derived.until = None if until is None else at(until)
    derived.increment = SimpleNamespace(
        replaced="ids" if until or retained_from else None, earliest="earliest", judged_before=judged
    )
    derived.relations, derived.in_memory, derived.settings = {}, None, "settings"
    derived.lake = SimpleNamespace(
        staging="staging",
        state=State(retained_from=None if retained_from is None else at(retained_from)),
        replace_connections=lambda *what: done.append(("replaced", *what)),
        overwrite=lambda *what: done.append(("all", *what)),
        append=lambda *what: done.append(("added", *what)),
        judged=SimpleNamespace(
            append=lambda rows: done.append(("judged of new ids", rows)),
            overwrite=lambda rows: done.append(("all judged", rows)),
            replace=lambda rows: done.append(("judged of some ids", rows)),
        ),
    )
    derived._derive(step)
    assert derived.relations == ({} if step.name == PART else {step.name: step.of({})})
    return done


@pytest.mark.parametrize(
    ("until", "retained_from", "judged", "how", "of_connections"),
    [
        (None, None, None, "all judged", None),
        (None, 1, None, "all judged", None),
        (2, None, None, "judged of some ids", "replaced"),
        (2, 1, 3, "judged of some ids", "replaced"),
        (2, None, 0, "judged of new ids", "added"),
    ],
)
def test_a_run_that_reads_on_writes_the_rows_of_what_it_has_recomputed(
    until: int | None,
    retained_from: int | None,
    judged: int | None,
    how: str,
    of_connections: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has judged only some ids; the others keep what earlier runs have judged. Rows of new connections are added."""
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    of_run = until, retained_from, judged
    done = derived_as(Step("judged_requests", (), lambda: Noted("made")), *of_run)
    assert done == [(how, "made where is_newest without is_newest")]
    if of_connections is not None:
        done = derived_as(Step("api_usage", (), lambda: Noted("made")), *of_run)
        rest = ("ids", "earliest") if of_connections == "replaced" else ()
        assert done == [(of_connections, "api_usage", "made", *rest)]
    elif retained_from is None:
        assert derived_as(Step(PART, (), lambda: Noted("made")), *of_run) == [("all", PART, "made")]
