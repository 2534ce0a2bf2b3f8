"""What a build goes on with: the tables of the last build, if that ended and was of this release and these settings."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.problems import Problem
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.runs.ingest import Ingested, RunReport
from kafka_clientinfo.spark.session_conf import REQUEST_BYTES
from kafka_clientinfo.tables.types import sql_time
from kafka_clientinfo.warehouse.judged_table import Build
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

OF_THIS = pipeline._made_with(Settings())
FILES = {"a": {"requests": 900, "ingested_at": at(2)}, "b": {"requests": 70, "ingested_at": at(5)}}


@pytest.mark.parametrize(
    ("built", "judged", "until", "planned"),
    [
        ((None, None), None, None, 970),
        ((2, OF_THIS), None, None, 970),
        ((2, OF_THIS), (OF_THIS, 2), 2, 70),
        ((2, OF_THIS), (OF_THIS, 3), None, 970),
        ((2, OF_THIS), (OF_THIS, 1), None, 970),
        ((2, OF_THIS), ("another", 2), None, 970),
        ((2, "another"), (OF_THIS, 2), None, 970),
    ],
    ids=[
        "nothing is built",
        "no judged requests",
        "as built",
        "a build was interrupted",
        "judged requests of an earlier build",
        "judged requests of other settings",
        "other settings",
    ],
)
def test_a_build_goes_on_with_the_last_one_if_that_ended(
    monkeypatch: pytest.MonkeyPatch,
    built: tuple[int | None, str | None],
    judged: tuple[str, int] | None,
    until: int | None,
    planned: int,
) -> None:
    """The session is set up for what is derived, so also for everything if nothing can be gone on with.

    While everything is derived again nothing counts as built, so that a run after a kill does not find nothing to do.
    """
    derived: list[Any] = []

    def derivation(lake: Any, settings: Any, *of_build: Any) -> Any:
        derived.append(of_build)
        return SimpleNamespace(run=lambda stage: meanwhile.append(stored.get("built_until", "as before")))

    stored: dict[str, Any] = {}
    meanwhile: list[Any] = []
    lake: Any = SimpleNamespace(
        spark=None,
        state=State(built_until=None if built[0] is None else at(built[0]), built_with=built[1]),
        judged=SimpleNamespace(last_build=lambda: judged and Build(judged[0], sql_time(at(judged[1])))),
        claim=lambda: None,
        rows=dict,
        update_state=stored.update,
        address=SimpleNamespace(is_schema=False),
    )
    sizes: list[int] = []
    monkeypatch.setattr(pipeline, "Derivation", derivation)
    monkeypatch.setattr(pipeline, "sized", lambda spark, size: sizes.append(size) or nullcontext())
    monkeypatch.setattr(pipeline, "SMALL_BYTES", 70 * REQUEST_BYTES)
    monkeypatch.setattr(Ingested, "in_memory", lambda self, spark: {})
    pipeline._build(lake, Ingested(FILES), Settings(), RunReport())
    expected = None if until is None else at(until)
    assert derived == [(OF_THIS, expected, at(5), list(FILES.values()), {})]
    assert meanwhile == [None if until is None else "as before"]
    assert (sizes, lake.one_file) == ([planned * REQUEST_BYTES], planned == 70)
    assert (stored["built_until"], stored["built_with"]) == (at(5), OF_THIS)


@pytest.mark.parametrize(
    ("files", "built"),
    [({}, None), (FILES, 5), ({}, 5)],
    ids=["nothing is ingested", "all is built", "no file is left in the ledger"],
)
def test_nothing_is_built_where_nothing_is_new(files: dict[str, Any], built: int | None) -> None:
    """Nor is the warehouse claimed, which a run elsewhere may be writing."""
    until = None if built is None else at(built)
    lake: Any = SimpleNamespace(state=State(built_until=until, built_with=OF_THIS, rows={"connections": 7}))
    assert pipeline._build(lake, Ingested(files), Settings(), RunReport()).tables == {"connections": 7}


@pytest.mark.parametrize("is_schema", [True, False])
def test_a_view_that_cannot_be_made_is_a_problem_of_a_build_that_counts(
    monkeypatch: pytest.MonkeyPatch, is_schema: bool
) -> None:
    done: list[Any] = []

    def make(spark: Any, address: Any, views: Any) -> dict[str, str]:
        done.append("views")
        return {"violations_by_owner": "no right"}

    lake: Any = SimpleNamespace(
        spark=None,
        state=State(),
        claim=lambda: done.append("claim"),
        rows=lambda: {"requests": 970},
        update_state=lambda **changes: done.append(changes),
        address=SimpleNamespace(is_schema=is_schema, location=lambda name: f"c.s.{name}"),
    )
    monkeypatch.setattr(
        pipeline, "Derivation", lambda *of_build: SimpleNamespace(run=lambda stage: done.append("tables"))
    )
    monkeypatch.setattr(pipeline, "sized", lambda spark, size: nullcontext())
    monkeypatch.setattr(pipeline, "make_views", make)
    monkeypatch.setattr(Ingested, "in_memory", lambda self, spark: {})
    report = RunReport()
    report.problems.append(Problem("a.log", "empty", "no record"))
    pipeline._build(lake, Ingested(FILES), Settings(), report)
    built = {"built_until": at(5), "built_with": OF_THIS, "bucket_minutes": 60, "rows": {"requests": 970}}
    assert done == ["claim", {"built_until": None}, "tables", built, *(["views"] if is_schema else [])]
    views = [("c.s.violations_by_owner", "view", "no right")] if is_schema else []
    assert [(one.path, one.kind, one.detail) for one in report.problems] == [("a.log", "empty", "no record"), *views]


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_run_has_read_is_released_after_the_build_however_it_ends(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    done: list[str] = []

    @contextmanager
    def opened(*_: Any) -> Iterator[str]:
        yield "lake"

    def build(lake: str, ingested: Any, settings: Settings, report: RunReport) -> RunReport:
        done.append("built")
        if fails:
            raise ValueError("a step")
        return report

    monkeypatch.setattr(pipeline, "_is_too_early", lambda *_: False)
    monkeypatch.setattr(pipeline, "opened", opened)
    monkeypatch.setattr(pipeline, "ingest_logs", lambda *_: SimpleNamespace(release=lambda: done.append("released")))
    monkeypatch.setattr(pipeline, "_build", build)
    spark: Any = None
    with pytest.raises(ValueError, match="a step") if fails else nullcontext():
        pipeline.run(spark, ["x"], "warehouse")
    assert done == ["built", "released"]
    pipeline.ingest(spark, ["x"], "warehouse")
    assert done == ["built", "released", "released"]
