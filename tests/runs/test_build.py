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


CHANGED = (
    "connections/judged.py concerns/usage/rules.py releases/broker_releases.py schemas/broker_api_ranges/releases.json"
)


def test_rules_that_change_between_two_releases_are_other_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that went on with rows that older rules judged would lack columns, or mix both."""
    for folder in ("connections", "concerns", "coverage", "releases"):
        shutil.copytree(Path(resources.__file__).parent / folder, tmp_path / folder)
    shutil.copytree(str(resources.schemas()), tmp_path / "schemas")
    monkeypatch.setattr(resources, "files", lambda name: tmp_path)
    digests = [resources.rules_digest.__wrapped__()]
    for changed in CHANGED.split():
        (tmp_path / changed).open("a").write("# changed")
        digests.append(resources.rules_digest.__wrapped__())
    assert len(set(digests)) == 5


@pytest.mark.parametrize(
    ("built", "is_judged", "until", "planned"),
    [
        ((None, None), False, None, 970),
        ((2, OF_THIS), False, None, 970),
        ((2, OF_THIS), True, 2, 70),
        ((2, "another"), True, None, 970),
        ((2, OF_THIS[:-1] + "."), True, None, 970),
    ],
    ids=["nothing is built", "no judged requests", "as built", "other settings", "other rules"],
)
def test_a_build_goes_on_with_the_last_one_if_it_can(
    done: list[Any], built: tuple[int | None, str | None], is_judged: bool, until: int | None, planned: int
) -> None:
    """The session is set up for what is derived, so also for everything if nothing can be gone on with."""
    state = State(built_until=None if built[0] is None else at(built[0]), built_with=built[1])
    lake = lake_that_notes(done, state=state, exists=lambda name: is_judged)
    pipeline._build(lake, Ingested(FILES), Settings(), RunReport())
    derived = ("derived", None if until is None else at(until), at(5), list(FILES.values()), None)
    assert [one for one in done if one in ("covered", derived)] == ["covered"] * (until is None) + [derived]
    assert [one for one in done if isinstance(one, int)] == [planned * REQUEST_BYTES]
    (noted,) = (one for one in done if isinstance(one, dict))
    assert (noted["built_until"], noted["built_with"]) == (at(5), OF_THIS)


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


def lake_that_notes(done: list[Any], **given: Any) -> Any:
    """A warehouse which notes what a build does to it."""
    stand_ins: dict[str, Any] = {
        "spark": None,
        "root": "w",
        "state": State(),
        "exists": lambda name: True,
        "claim": lambda: done.append("claim"),
        "rows": lambda count: {"requests": 970},
        "specs": ("requests",),
        "create_missing": lambda names: done.append(("missing", names)),
        "note": lambda **changes: done.append(changes),
        "commit": lambda report, settings, *error: done.append(("commit", settings, *error)),
        "address": SimpleNamespace(is_schema=False, folder=None, location=lambda name: f"c.s.{name}"),
    }
    return SimpleNamespace(**stand_ins | given)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a build does, without Spark; no view can be made, written or stored."""
    done: list[Any] = []

    def make(spark: Any, address: Any, of_views: ViewSettings, stored: tuple[str, ...]) -> dict[str, str]:
        done.append(("views", of_views.bucket_minutes, stored))
        return {"violations_by_owner": "no right"}

    def write() -> None:
        done.append("views.sql")
        raise OSError("no space")

    def derivation(lake: Any, settings: Any, *of_build: Any) -> Any:
        return SimpleNamespace(run=lambda stage: done.append(("derived", *of_build)))

    stand_ins: dict[str, Any] = {
        "cover_again": lambda lake, files, settings: done.append("covered"),
        "Derivation": derivation,
        "sized": lambda spark, size: done.append(size) or nullcontext(),
        "_write_reference_tables": lambda lake, anew: None,
        "make_views": make,
        "local_tables": lambda root: SimpleNamespace(write_views=write),
        "store_views": lambda lake, names: done.append(("stored", names)) or dict.fromkeys(names, "no such view"),
        "take_back": lambda lake, names: done.append(set(names)),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(pipeline, name, stand_in)
    return done


@pytest.mark.parametrize(
    ("is_schema", "folder", "made", "failed"),
    [
        (True, None, [("views", 7, ("client_inventory",))], [("c.s.violations_by_owner", "no right")]),
        (False, "w", ["views.sql"], [("c.s.views.sql", "no space")]),
        (False, None, [], []),
    ],
    ids=["schema", "folder", "elsewhere"],
)
def test_a_view_that_cannot_be_made_is_a_problem_of_a_build_that_counts(
    done: list[Any], is_schema: bool, folder: str | None, made: list[Any], failed: list[tuple[str, str]]
) -> None:
    """In a folder, views stand in a file; elsewhere there are none, but those that are stored as tables."""
    settings = Settings(bucket_minutes=7, stored_views=("client_inventory",))
    report = RunReport()
    report.problems.append(Problem("a.log", "empty", "no record"))
    address = SimpleNamespace(is_schema=is_schema, folder=folder, location=lambda name: f"c.s.{name}")
    pipeline._build(lake_that_notes(done, address=address), Ingested(FILES), settings, report)
    built = {
        "built_until": at(5),
        "built_with": made_with(settings),
        "view_settings": ViewSettings.of(settings).as_dict,
    }
    committed = [built | {"rows": {"requests": 970}, "changed": ()}, ("commit", settings.fingerprint())]
    assert done[1] == "claim"
    assert done[-4 - len(made) :] == [("missing", ("requests",)), *committed, ("stored", ("client_inventory",)), *made]
    assert [(one.path, one.kind, one.detail) for one in report.problems] == [
        ("a.log", "empty", "no record"),
        ("c.s.client_inventory", "view", "no such view"),
        *((path, "view", why) for path, why in failed),
    ]


@pytest.mark.parametrize(
    ("has_written", "is_overtaken", "is_kept"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_what_a_run_has_read_is_kept_if_it_cannot_build(
    done: list[Any], has_written: bool, is_overtaken: bool, is_kept: bool
) -> None:
    """Logs may be gone when a later run can; what was derived of them is taken back."""

    def check() -> None:
        if is_overtaken:
            raise WarehouseError("another run")

    claims, settings = SimpleNamespace(check=check), Settings(max_idle_ms=7)
    lake = lake_that_notes(done, specs=table_specs(), has_written=has_written, claims=claims)
    lake.note = lambda **state: done.append(State(**state))
    read = State(run=3, declared="of tables that are taken back")
    pipeline._keep_what_was_read(lake, read, settings, RunReport(), ValueError("no space"))
    derived = {name for name, spec in table_specs().items() if spec.derived}
    kept = [{*derived, "judged_requests"}, State(run=3), ("commit", settings.fingerprint(), "ValueError: no space")]
    assert done == (kept if is_kept else [])
