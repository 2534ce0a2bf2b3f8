"""What a build goes on with: the tables of the last build, if that was of this release and these settings."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.runs.ingest import Ingested, RunReport, made_with
from kafka_clientinfo.spark.session_conf import REQUEST_BYTES
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.views import ViewSettings
from kafka_clientinfo.warehouse.state import State
from tests.frames import at

OF_THIS = made_with(Settings())
FILES = {"a": {"requests": 900, "ingested_at": at(2)}, "b": {"requests": 70, "ingested_at": at(5)}}


@pytest.mark.parametrize(
    "changed",
    [
        "connections/judged.py",
        "concerns/usage/rules.py",
        "releases/broker_releases.py",
        "schemas/broker_api_ranges/4.0.1.json",
    ],
)
def test_rules_that_change_between_two_releases_are_other_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """A build that went on with rows that older rules judged would lack columns, or mix both."""
    package = tmp_path / "package"
    for folder in ("connections", "concerns", "coverage", "releases"):
        shutil.copytree(Path(resources.__file__).parent / folder, package / folder)
    shutil.copytree(str(resources.schemas()), package / "schemas")
    monkeypatch.setattr(resources, "files", lambda name: package)
    before = resources.rules_digest.__wrapped__()
    (package / changed).open("a").write("# changed")
    assert resources.rules_digest.__wrapped__() != before


@pytest.mark.parametrize(
    ("built", "judged", "until", "planned"),
    [
        ((None, None), None, None, 970),
        ((2, OF_THIS), None, None, 970),
        ((2, OF_THIS), "rows", 2, 70),
        ((2, "another"), "rows", None, 970),
        ((2, OF_THIS[:-1] + "."), "rows", None, 970),
    ],
    ids=["nothing is built", "no judged requests", "as built", "other settings", "other rules"],
)
def test_a_build_goes_on_with_the_last_one_if_it_can(
    monkeypatch: pytest.MonkeyPatch,
    built: tuple[int | None, str | None],
    judged: str | None,
    until: int | None,
    planned: int,
) -> None:
    """The session is set up for what is derived, so also for everything if nothing can be gone on with."""
    derived: list[Any] = []

    def derivation(lake: Any, settings: Any, *of_build: Any) -> Any:
        derived.append(of_build)
        return SimpleNamespace(run=lambda stage: None)

    stored: dict[str, Any] = {}
    lake: Any = SimpleNamespace(
        spark=None,
        state=State(built_until=None if built[0] is None else at(built[0]), built_with=built[1]),
        exists=lambda name: judged is not None,
        claim=lambda: None,
        rows=lambda count: {},
        note=stored.update,
        commit=lambda report, settings: None,
        address=SimpleNamespace(is_schema=False, folder=None),
        specs={},
        create_missing=lambda names: None,
    )
    sizes: list[int] = []
    covered: list[Any] = []
    monkeypatch.setattr(pipeline, "cover_again", lambda lake, files, settings: covered.append(files))
    monkeypatch.setattr(pipeline, "_write_reference_tables", lambda lake, anew: None)
    monkeypatch.setattr(pipeline, "Derivation", derivation)
    monkeypatch.setattr(pipeline, "sized", lambda spark, size: sizes.append(size) or nullcontext())
    monkeypatch.setattr(pipeline, "SMALL_BYTES", 70 * REQUEST_BYTES)
    pipeline._build(lake, Ingested(FILES), Settings(), RunReport())
    expected = None if until is None else at(until)
    assert derived == [(expected, at(5), list(FILES.values()), None)]
    assert covered == ([FILES] if until is None else [])
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


def failing_views(done: list[Any]) -> dict[str, Any]:
    """Stand-ins for what a build calls; no view can be made, written or stored."""

    def make(spark: Any, address: Any, of_views: ViewSettings, stored: tuple[str, ...]) -> dict[str, str]:
        done.append(("views", of_views.bucket_minutes, stored))
        return {"violations_by_owner": "no right"}

    def write() -> None:
        done.append("views.sql")
        raise OSError("no space")

    def store(lake: Any, names: tuple[str, ...]) -> dict[str, str]:
        done.append(("stored", names))
        return dict.fromkeys(names, "no such view")

    return {
        "cover_again": lambda lake, files, settings: None,
        "Derivation": lambda *of_build: SimpleNamespace(run=lambda stage: done.append("tables")),
        "sized": lambda spark, size: nullcontext(),
        "_write_reference_tables": lambda lake, anew: done.append("reference tables"),
        "make_views": make,
        "local_tables": lambda root: SimpleNamespace(write_views=write),
        "store_views": store,
    }


def lake_that_notes(done: list[Any], place: str) -> Any:
    """A warehouse in a schema, a folder or elsewhere, which notes what a build does to it."""
    return SimpleNamespace(
        spark=None,
        root="w",
        state=State(),
        claim=lambda: done.append("claim"),
        rows=lambda count: {"requests": 970},
        specs=("requests",),
        create_missing=lambda names: done.append(("missing", names)),
        note=lambda **changes: done.append(changes),
        commit=lambda report, settings: done.append(("commit", report.tables, settings)),
        address=SimpleNamespace(
            is_schema=place == "schema", folder="w" if place == "folder" else None, location=lambda name: f"c.s.{name}"
        ),
    )


@pytest.mark.parametrize("place", ["schema", "folder", "elsewhere"])
def test_a_view_that_cannot_be_made_is_a_problem_of_a_build_that_counts(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """In a folder, views stand in a file; elsewhere there are none, but those that are stored as tables."""
    done: list[Any] = []
    settings = Settings(bucket_minutes=7, stored_views=("client_inventory",))
    for name, stand_in in failing_views(done).items():
        monkeypatch.setattr(pipeline, name, stand_in)
    report = RunReport()
    report.problems.append(Problem("a.log", "empty", "no record"))
    pipeline._build(lake_that_notes(done, place), Ingested(FILES), settings, report)
    views = ViewSettings.of(settings).as_dict
    built = {"built_until": at(5), "built_with": made_with(settings), "view_settings": views}
    made: dict[str, list[Any]] = {
        "schema": [("views", 7, ("client_inventory",))],
        "folder": ["views.sql"],
        "elsewhere": [],
    }
    assert done == [
        "claim",
        "tables",
        "reference tables",
        ("missing", ("requests",)),
        built | {"rows": {"requests": 970}, "changed": ()},
        ("commit", {"requests": 970}, settings.fingerprint()),
        ("stored", ("client_inventory",)),
        *made[place],
    ]
    failed = {
        "schema": [("c.s.violations_by_owner", "no right")],
        "folder": [("c.s.views.sql", "no space")],
        "elsewhere": [],
    }
    assert [(one.path, one.kind, one.detail) for one in report.problems] == [
        ("a.log", "empty", "no record"),
        ("c.s.client_inventory", "view", "no such view"),
        *((path, "view", why) for path, why in failed[place]),
    ]


def lake_that_read(done: list[Any], has_written: bool, is_overtaken: bool = False) -> Any:
    """A warehouse that notes what a run does which has read logs, and could not build."""

    def check() -> None:
        if is_overtaken:
            raise WarehouseError("another run")

    return SimpleNamespace(
        root="/lake",
        specs=table_specs(),
        has_written=has_written,
        claims=SimpleNamespace(check=check),
        note=lambda **state: done.append(State(**state)),
        commit=lambda report, settings, error: done.append((settings, error)),
    )


@pytest.mark.parametrize(
    ("has_written", "is_overtaken", "is_kept"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_what_a_run_has_read_is_kept_if_it_cannot_build(
    monkeypatch: pytest.MonkeyPatch, has_written: bool, is_overtaken: bool, is_kept: bool
) -> None:
    """Logs may be gone when a later run can; what was derived of them is taken back."""
    done: list[Any] = []
    monkeypatch.setattr(pipeline, "take_back", lambda lake, names: done.append(set(names)))
    lake, settings = lake_that_read(done, has_written, is_overtaken), Settings(max_idle_ms=7)
    read = State(run=3, declared="of tables that are taken back")
    pipeline._keep_what_was_read(lake, read, settings, RunReport(), ValueError("no space"))
    derived = {name for name, spec in table_specs().items() if spec.derived}
    kept = [{*derived, "judged_requests"}, State(run=3), (settings.fingerprint(), "ValueError: no space")]
    assert done == (kept if is_kept else [])
