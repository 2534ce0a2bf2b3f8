"""Each step makes one relation of others that exist."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern, Finder
from kafka_clientinfo.runs import derivation, steps
from kafka_clientinfo.runs.refused_rows import RefusedRowsError
from kafka_clientinfo.runs.steps import Step
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.spark.caching import release
from kafka_clientinfo.tables.spec import parse_spec
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.judged_table import Build
from kafka_clientinfo.warehouse.staging import Staging
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

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


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_relation_is_made_and_searched_for_findings_only_where_it_is_listed(
    spark: Any, monkeypatch: pytest.MonkeyPatch, is_listed: bool
) -> None:
    names = relation_of(spark, [("other",), ("mine",)] if is_listed else [("other",)], "relation string")
    mine = SimpleNamespace(columns=[])
    concern = Concern(
        name="mine",
        finders=(Finder(lambda mine: f"findings in {mine}", ("rule",)),),
        transforms={
            "mine": lambda settings: mine,
            "list_of_mine": lambda settings: names,
            "broker_hosts": lambda settings: None,
        },
        listed={"mine": "list_of_mine"},
    )
    monkeypatch.setattr(steps, "concerns", lambda: (concern,))
    monkeypatch.setattr(steps, "violations", lambda requests, rows, findings, *_: findings)
    made = steps.steps.__wrapped__()
    monkeypatch.setattr(steps, "steps", lambda: made)
    monkeypatch.setattr(derivation, "lists", lambda: {"list_of_mine"})
    monkeypatch.setattr(derivation, "read_by_others", lambda: ())
    derived, _ = derivation_of(2)
    derived.whole_tables["settings"] = "settings"
    assert made["mine"].needs == ("settings", "list_of_mine")
    for name in ("list_of_mine", "mine"):
        derived._derive(made[name])
    assert derived.run_relations["mine"] is derived.whole_tables["mine"] is (mine if is_listed else None)
    given = {"judged_requests": 1, "connections": 2, "settings": 3, "mine": derived.run_relations["mine"]}
    assert made["violations"].make(given) == ([f"findings in {mine}"] if is_listed else [])


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


def derivation_of(until: int | None, retained_from: int | None = None) -> tuple[Any, list[Any]]:
    """A derivation on a warehouse without tables, and what it does there."""
    done: list[Any] = []

    def replace(name: str, rows: Any, recomputed_ids: Any, earliest: Any, batch_id: str, keep: Any) -> None:
        done.append((name, keep(rows) if until is not None else rows, recomputed_ids, earliest, batch_id))

    derived: Any = derivation.Derivation.__new__(derivation.Derivation)
    derived.until = None if until is None else at(until)
    derived.is_whole = until is None and retained_from is None
    derived.build, derived.batch_id = Build(MADE_WITH, "batch"), "batch"
    derived.increment = SimpleNamespace(
        recomputed_ids="ids", earliest_recomputed_at="earliest", cached=(), requests="new", before="before"
    )
    derived.run_relations, derived.whole_tables, derived.cached, derived.settings = {}, {}, [], "settings"
    derived.committed, derived.is_committed = "requests", "is committed"
    derived.files, derived.judged = ["file"], "judged"
    derived._stored_connections = lambda: "connections before"
    derived.lake = SimpleNamespace(
        root="/lake",
        staging="staging",
        state=State(retained_from=None if retained_from is None else at(retained_from)),
        read=lambda name: Noted(f"stored {name}"),
        read_snapshot=lambda name: f"snapshot of {name}",
        spec=lambda name: f"declaration of {name}",
        replace_connections=replace,
        overwrite=lambda name, rows, batch_id: done.append((name, rows, batch_id)),
        judged=SimpleNamespace(
            overwrite=lambda rows, build: done.append(("all judged", rows.name, build)),
            replace=lambda rows, build: done.append(("judged of some ids", rows.name, build)),
        ),
    )
    return derived, done


@pytest.mark.parametrize(
    ("until", "retained_from", "how"),
    [
        (None, None, "all judged"),
        (None, 1, "all judged"),
        (2, None, "judged of some ids"),
        (2, 1, "judged of some ids"),
    ],
)
def test_a_later_run_finds_what_was_judged_of_every_id_that_may_go_on(
    until: int | None, retained_from: int | None, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that reads on has judged only some ids; the others keep what earlier runs have judged."""
    derived, done = derivation_of(until, retained_from)
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    derived._derive(Step("judged_requests", ("requests",), lambda relations: Noted("judged")))
    assert done == [(how, "judged where is_newest without is_newest", derived.build)]
    assert derived.run_relations == {"judged_requests": Noted("judged")}


@pytest.mark.parametrize(
    ("until", "retained_from", "whole"),
    [(None, None, "made"), (None, 1, "stored api_usage"), (2, None, "kept made"), (2, 1, "kept made")],
    ids=["everything", "all that retention has left", "new requests", "new requests after retention"],
)
def test_later_steps_read_whole_tables_with_the_rows_that_stay(
    until: int | None, retained_from: int | None, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived, done = derivation_of(until, retained_from)
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    monkeypatch.setattr(derivation, "cached_in_memory", lambda rows: Noted(f"kept {rows.name}"))
    derived._derive(Step("api_usage", ("judged_requests",), lambda relations: Noted("made")))
    assert derived.run_relations == {"api_usage": Noted("made")}
    assert derived.whole("api_usage") == Noted(whole)
    written = Noted("made") if until is None else Noted("kept made")
    assert done == [("api_usage", written, "ids", "earliest", "batch")]


def test_where_nothing_may_be_kept_in_memory_whole_tables_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    derived, _ = derivation_of(2)
    monkeypatch.setattr(derivation, "cached_in_memory", lambda rows: None)
    assert derived._cached_whole("connections", Noted("made")) == Noted("made")
    assert (derived.whole("connections"), derived.cached) == (Noted("stored connections"), [])


@pytest.mark.parametrize("rules", [(), ("a rule",)])
def test_findings_that_outlast_retention_are_written_with_the_new_ones(
    rules: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    derived, done = derivation_of(2, 1)
    monkeypatch.setattr(derivation, "cache", lambda rows, staging: rows)
    monkeypatch.setattr(derivation, "with_lasting_findings", lambda lake, rows, of: Noted(f"{rows.name} and {of}"))
    derived._derive(Step("violations", ("connections",), lambda relations: Noted("made"), rules))
    assert done[0][1] == Noted(f"made and {rules}" if rules else "made")


@pytest.mark.parametrize(
    ("until", "retained_from", "expected"),
    [
        (None, None, ("everything", "requests")),
        (None, 1, ("all that is left", at(1), "snapshot of connections", ["file"], "requests")),
        (2, None, ("new_since", None, "snapshot of connections", ["file"], "requests", "judged", at(2), 7)),
        (2, 1, ("new_since", at(1), "snapshot of connections", ["file"], "requests", "judged", at(2), 7)),
    ],
)
def test_a_build_recomputes_what_the_last_one_and_retention_have_left_to_do(
    until: int | None, retained_from: int | None, expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(stored: Any) -> tuple[Any, ...]:
        assert stored.reports == (Noted("stored ingested_files"), derived.settings)
        return stored.retained_from, stored.connections, stored.files, stored.requests

    derived, _ = derivation_of(until, retained_from)
    derived.settings = SimpleNamespace(coverage_gap_ms=7)
    monkeypatch.setattr(derivation, "reports", lambda files, settings: (files, settings))
    chosen = {
        "everything": lambda requests: ("everything", requests),
        "everything_retained": lambda stored: ("all that is left", *seen(stored)),
        "new_since": lambda stored, *given: ("new_since", *seen(stored), *given),
    }
    for name, increment in chosen.items():
        monkeypatch.setattr(derivation.increments, name, increment)
    assert derived._increment() == expected


def test_steps_are_given_what_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that failed may have left failed requests that the ledger does not count."""
    released: list[str] = []
    derived, _ = derivation_of(2)
    derived.increment.cached = ("new ids",)
    monkeypatch.setattr(derivation, "_derive_all", lambda derive: None)
    monkeypatch.setattr(derivation, "release", lambda *kept: released.extend(kept))
    derived._derive_tables(lambda name: nullcontext())
    assert released == ["new ids"]
    whole = {
        "ingested_files": Noted("stored ingested_files"),
        "failed_requests": Noted("stored failed_requests where is committed"),
        "topic_mentions": Noted("stored topic_mentions where is committed"),
        "settings": "settings",
    }
    assert derived.whole_tables == whole
    assert derived.run_relations == {
        **whole,
        "requests": "new",
        "judged_before": "before",
        "stored_connections": "connections before",
    }


REFUSED = ValueError("DELTA_NOT_NULL_CONSTRAINT_VIOLATED")


@pytest.mark.parametrize(
    ("name", "error", "found", "said"),
    [
        ("connections", REFUSED, "column a is null", "column a is null"),
        ("connections", REFUSED, None, "a constraint refuses a row, and none was found to show: KeyError: 'gone'"),
        ("connections", ValueError("no space"), "column a is null", "no space"),
        ("judged_requests", REFUSED, "column a is null", str(REFUSED)),
    ],
    ids=["a row", "a row that is not found", "another error", "a relation that no declared table holds"],
)
def test_a_refusal_names_its_table_and_any_other_error_stays(
    name: str, error: Exception, found: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def describe(rows: Any, spec: Any, whole: Any, judged: Any) -> str:
        if found is None:
            raise KeyError("gone")
        assert (rows, spec, whole, judged) == ("rows", f"declaration of {name}", derived.whole, "judged rows")
        return found

    def fail(step: Step) -> None:
        derived.run_relations |= {name: "rows", "judged_requests": "judged rows"}
        raise error

    derived, _ = derivation_of(2)
    monkeypatch.setattr(derived, "_derive", fail)
    monkeypatch.setattr(derivation, "describe", describe)
    monkeypatch.setattr(derivation, "_derive_all", lambda derive: derive(steps.steps()[name]))
    with pytest.raises((RefusedRowsError, ValueError)) as raised:
        derived._derive_tables(lambda stage: nullcontext())
    assert str(raised.value) == said
    refusal = raised.value if isinstance(raised.value, RefusedRowsError) else None
    assert (refusal and refusal.table) == (name if said != str(error) else None)
