"""Runs that break at a boundary of their work: the next run mends what they left, also when the log has grown since.

The log grows before every run. Runs break one after the other, in every place there is. Real kills are in lab/soak.
"""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.runs import derivation
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.runs.ingest import RunReport
from kafka_clientinfo.runs.steps import ROWS
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse import warehouse as module
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.equality import assert_same_tables
from tests.stages import at_stages

pytestmark = pytest.mark.soak

SAMPLES = Path(__file__).resolve().parent.parent / "sample_logs"
REAL = SAMPLES / "kafka-2.7.2" / "kafka-request.log.gz"
SERVER_LOG = SAMPLES / "kafka-4.4.0" / "server.log.gz"

_READING = ("prepare", "plan", "read and parse", "requests", "rejected_records", "failed_requests")
_MENDED_EVERY = 4
"""Broken runs before one that goes to its end, where every place is tried: what they leave adds up."""


class PowerFailure(BaseException):
    """Nobody catches it."""


def stages() -> list[str]:
    """What a run says as it goes on, in about that order."""
    return [*_READING, "ingested_files", "increment", *sorted(derivation.steps())]


Break = Callable[[pytest.MonkeyPatch], Callable[[str], None] | None]


def before(stage: str) -> Break:
    """Fail as a stage begins."""

    def fail(said: str) -> None:
        if said == stage:
            raise PowerFailure(stage)

    return lambda patch: fail


def after(table: str) -> Break:
    """Fail as soon as a table is committed."""

    class Torn(Warehouse):
        def append(self, name: str, *rest: Any) -> None:
            super().append(name, *rest)
            self._fail(name)

        def overwrite(self, name: str, *rest: Any) -> None:
            super().overwrite(name, *rest)
            self._fail(name)

        def commit(self, *rest: Any) -> None:
            super().commit(*rest)
            self._fail("runs")

        def _fail(self, name: str) -> None:
            if name == table:
                raise PowerFailure(name)

    def install(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, "Warehouse", Torn)

    return install


class GrowingLog:
    """A log with one record per piece that cannot be read, and a server.log beside it, written piece by piece.

    It is a real log and, an hour later, the same once more: every connection id is used again, so what a piece
    in the middle holds continues some connections and begins others of the same ids.
    """

    def __init__(self, folder: Path, pieces: int) -> None:
        folder.mkdir(parents=True)
        hour = [record.data for record in split_records([gzip.decompress(REAL.read_bytes())])]
        records = [*hour, *(record.replace(b"[2026-11-21 02:", b"[2026-11-21 03:", 1) for record in hour)]
        step = -(-len(records) // pieces)
        groups = [records[at : at + step] for at in range(0, len(records), step)]
        unreadable = records[0].replace(b"(apiKey=", b"(apiWine=", 1)
        self.pieces = [b"".join([*group[:2], unreadable, *group[2:]]) for group in groups]
        self.path = folder / "kafka-request.log"
        shutil.copy(SERVER_LOG, folder / SERVER_LOG.name)

    def grow(self) -> None:
        """Write the next piece, cut where it falls."""
        with self.path.open("ab") as file:
            file.write(self.pieces.pop(0))

    def finish(self) -> None:
        """Write the rest."""
        while self.pieces:
            self.grow()


def run(spark: Any, log: GrowingLog, lake: Path) -> RunReport:
    return pipeline.run(spark, [str(log.path)], str(lake))


def broken_run(spark: Any, log: GrowingLog, lake: Path, patch: pytest.MonkeyPatch, broken: Break) -> None:
    with patch.context() as undone, at_stages(broken(undone) or str), pytest.raises(PowerFailure):
        pipeline.run(spark, [str(log.path)], str(lake))


def assert_each_once(spark: Any, lake: Path) -> None:
    """Rows stand where the accounts say, each once."""
    tables = Warehouse(spark, str(lake))
    (accounts,) = tables.read("ingested_files").selectExpr("sum(requests)", "sum(rejected)").collect()
    for name, expected in zip(("requests", "rejected_records"), accounts, strict=True):
        rows = tables.read(name)
        assert (rows.count(), rows.select("file_id", "byte_offset").distinct().count()) == (expected, expected), name


def assert_as_if_nothing_had_happened(spark: Any, log: GrowingLog, lake: Path, fresh: Path) -> None:
    log.finish()
    run(spark, log, lake)
    run(spark, log, fresh)
    assert_each_once(spark, lake)
    assert_same_tables(spark, lake, fresh)


def places_before() -> dict[str, Break]:
    """Before every stage; first of all beside the one table that only the first run appends to, of server.log."""
    return {
        "before failed_requests": before("failed_requests"),
        "after failed_requests": after("failed_requests"),
        **{f"before {stage}": before(stage) for stage in stages() if stage != "failed_requests"},
    }


def places_after() -> dict[str, Break]:
    """After every table that each run writes; `runs` comes last."""
    first = ("failed_requests", *ROWS)
    return {f"after {name}": after(name) for name in table_specs() if name not in first}


@pytest.mark.parametrize("every_place", [places_before, places_after])
def test_every_place_is_mended(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_place: Callable[[], dict[str, Break]]
) -> None:
    places = every_place()
    log = GrowingLog(tmp_path / "b", len(places) + len(places) // _MENDED_EVERY + 1)
    for number, (name, broken) in enumerate(places.items(), 1):
        log.grow()
        broken_run(spark, log, tmp_path / "lake", monkeypatch, broken)
        if number % _MENDED_EVERY == 0:
            log.grow()
            report = run(spark, log, tmp_path / "lake")
            assert_each_once(spark, tmp_path / "lake")
            print(number, name, report.tables["requests"], flush=True)
    assert_as_if_nothing_had_happened(spark, log, tmp_path / "lake", tmp_path / "fresh")
