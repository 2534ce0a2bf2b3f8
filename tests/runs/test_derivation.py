"""Each step makes one relation of others that exist."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.errors import UnknownRelationError
from kafka_clientinfo.runs import derivation, steps
from kafka_clientinfo.runs.steps import Step
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.spark.caching import release
from kafka_clientinfo.tables.spec import parse_spec, table_specs
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

EXTRACTED = {"requests", "rejected_records", "failed_requests", "ingested_files"}


def concern_of(transform: Callable[..., Any]) -> Concern:
    """A concern with one table, my_table."""
    return Concern(name="mine", transforms={"my_table": transform})


MADE_WITH = "1.0 settings"

SUMS = parse_spec("""
name = "sums"
comment = "Requests by broker"
write_mode = "aggregate"
key = ["broker"]
cluster_by = ["broker"]
aggregates = { requests = "sum", ingested_at = "max" }
columns = [
    { name = "broker", type = "string", comment = "The broker" },
    { name = "requests", type = "bigint", comment = "Their number" },
    { name = "ingested_at", type = "timestamp", comment = "The last" },
]
""")


@pytest.mark.parametrize(
    ("until", "counted", "requests"),
    [
        (2, 3, {"a": 102, "b": 100}),
        (4, 3, {"a": 101, "b": 100}),
        (None, 3, {"a": 102, "b": 100}),
        (None, None, {"a": 4, "b": 1}),
        (5, 5, None),
        (2, 5, None),
    ],
    ids=[
        "a run broke after it had counted",
        "nothing was counted of the last build",
        "everything is built anew, and some requests are deleted",
        "nothing is stored",
        "nothing is new, so nothing is written",
        "a run broke after it had counted all that is new",
    ],
)
def test_requests_are_counted_in_once(
    spark: Any, until: int | None, counted: int | None, requests: dict[str, int] | None
) -> None:
    """Stored rows count 100 requests each; the table's newest request, and the last build, say which are in there."""
    rows = [("a", at(1)), ("b", at(3)), ("a", at(3)), ("a", at(4)), ("a", at(5)), ("a", at(6))]
    stored = [] if counted is None else [("a", 100, at(counted)), ("b", 100, at(counted - 1))]
    tables = {"requests": relation_of(spark, rows, "broker string, ingested_at timestamp")}
    written: dict[str, Any] = {}

    def overwrite(name: str, made: Any, batch: str) -> None:
        written[name] = ({row["broker"]: row["requests"] for row in made.collect()}, batch)

    name = "broker_api_versions"
    lake: Any = SimpleNamespace(
        staging=Staging(spark, Address("/nowhere")),
        state=State(retained_from=at(0)),
        read=tables.__getitem__,
        read_snapshot=lambda name: relation_of(spark, stored, SUMS.ddl),
        spec=lambda name: SUMS,
        overwrite=overwrite,
        judged=SimpleNamespace(read=lambda: "rows"),
    )
    derived = derivation.Derivation(lake, Settings(), MADE_WITH, None if until is None else at(until), at(5), [], {})

    def make(relations: Any) -> Any:
        sums = F.count("*").alias("requests"), F.max("ingested_at").alias("ingested_at")
        return relations["new_requests"].groupBy("broker").agg(*sums)

    derived._count_new_requests(Step(name, ("new_requests",), make))
    assert written == ({} if requests is None else {name: (requests, f"{at(5):%Y-%m-%d %H:%M:%S.%f}")})
    for rows in (derived.whole(name), derived.run_relations[name]):
        assert {row["broker"]: row["requests"] for row in rows.collect()} == (requests or {"a": 100, "b": 100})
    release(*derived.cached)


@pytest.mark.parametrize(
    ("until", "states", "size", "one_file"),
    [
        (None, None, None, True),
        (2, 0, None, True),
        (2, 10_000, None, True),
        (2, 10_001, 10_001 * 8 * 600, False),
        (2, None, 99 * 600_000, False),
    ],
    ids=["everything", "only new connections", "connections that go on", "one more", "a late file"],
)
def test_a_session_is_set_up_for_what_an_increment_reads(
    monkeypatch: pytest.MonkeyPatch, until: int | None, states: int | None, size: int | None, one_file: bool
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(derivation, "sized", lambda spark, size: sizes.append(size) or nullcontext())
    monkeypatch.setattr(derivation, "SMALL_BYTES", 10_000 * 8 * 600)
    derived: Any = derivation.Derivation.__new__(derivation.Derivation)
    derived.until = until
    derived.increment = SimpleNamespace(states=states)
    derived.lake = SimpleNamespace(one_file=True, count=lambda name: 99_000, spark=None)
    with derived._sized():
        assert sizes == ([] if size is None else [size])
    assert derived.lake.one_file == one_file


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_run_keeps_is_released_however_it_ends(spark: Any, fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[Any] = []
    lake: Any = SimpleNamespace(
        state=State(), read=lambda name: relation_of(spark, [(at(1),)], "ingested_at timestamp")
    )
    derived = derivation.Derivation(lake, Settings(), MADE_WITH, None, at(5), [], {})

    def steps_of_run(derive: Any) -> None:
        derived.cached.append("kept")  # type: ignore[arg-type]
        if fails:
            raise ValueError("a step")

    monkeypatch.setattr(derivation, "_derive_all", steps_of_run)
    monkeypatch.setattr(derivation, "release", lambda *kept: released.extend(kept))
    with pytest.raises(ValueError, match="a step") if fails else nullcontext():
        derived.run(lambda name: nullcontext())
    assert released == ["kept"]


def test_every_derived_table_has_a_step() -> None:
    assert {name for name, step in steps.steps().items() if step.write_mode} == set(table_specs()) - EXTRACTED


def test_a_step_is_called_with_the_relations_that_its_parameters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(judged_requests: Any, settings: Any) -> Any:
        return (judged_requests, settings)

    monkeypatch.setattr(steps, "concerns", lambda: (*concerns(), concern_of(transform)))
    step = steps.steps.__wrapped__()["my_table"]
    assert (step.needs, step.write_mode) == (("judged_requests", "settings"), None)
    assert step.make({"judged_requests": 1, "settings": 2, "connections": 3}) == (1, 2)


def test_a_step_is_of_whole_tables_where_nothing_it_needs_is_of_the_run_alone() -> None:
    of_whole_tables = {name for name, step in steps.steps().items() if step.is_of_whole_tables}
    overwritten = {name for name, spec in table_specs().items() if spec.write_mode == "overwrite"}
    assert of_whole_tables - overwritten == {
        "broker_listeners", "group_type_conflicts", "group_unoffered_protocols", "judged_usage", "log_positions",
    }  # fmt: skip
    assert overwritten <= of_whole_tables


def test_violations_need_what_the_findings_of_all_concerns_need() -> None:
    needs = set(steps.steps()["violations"].needs)
    assert {"judged_requests", "connections", "settings", "group_protocols", "failed_requests"} <= needs


def test_a_relation_that_nothing_makes_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(conections: Any) -> Any:
        return conections

    monkeypatch.setattr(steps, "concerns", lambda: (*concerns(), concern_of(transform)))
    with pytest.raises(
        UnknownRelationError, match=r"my_table needs the relation 'conections'; known are .*connections"
    ):
        steps.steps.__wrapped__()


def test_steps_begin_after_what_they_need_and_first_those_that_most_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "_AT_ONCE", 1)
    begun: list[str] = []
    derivation._derive_all(lambda step: begun.append(step.name))
    place = begun.index
    assert sorted(begun) == sorted(steps.steps())
    assert all(
        place(need) < place(name) for name, step in steps.steps().items() for need in set(step.needs) & set(begun)
    )
    # violations wait for client_negotiations, and nothing for the other two, of which one needs more.
    assert place("client_negotiations") < place("client_inventory") < place("client_connections")
