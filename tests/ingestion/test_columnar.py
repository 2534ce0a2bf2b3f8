"""The columnar reading and the record parser read the same: the same rows in the same order, whatever the bytes."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.ingestion import arrow_schema, worker
from kafka_clientinfo.ingestion.columnar import RequestRows
from kafka_clientinfo.ingestion.planned import Split
from kafka_clientinfo.logs import Parser, RequestEvent
from kafka_clientinfo.logs.reader import head
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import examples, one_in
from tests.builders import json_record
from tests.ingestion.splitting import split_of
from tests.ingestion.test_splits import torn_logs
from tests.logs.excerpts import CORPUS, EXCERPTS, GENERATIONS, parse
from tests.logs.mutations import EXTREMES, mutated

pytestmark = pytest.mark.no_cover  # measuring coverage would double its time

SAMPLES = sorted((Path(__file__).parents[2] / "sample_logs").glob("*/kafka-request.log*"))
CORPUS_LOGS = sorted(CORPUS.glob("**/kafka-request.log.gz"))
OTHERS = [record.data for name in GENERATIONS for record in split_records([EXCERPTS[name]]) if record.length < 4000]
JSON = [data for data in OTHERS if b'Completed request:{"' in data]
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns")
Rows = dict[str, list[Any]]


WRAPPERS: list[Callable[[bytes], bytes]] = [
    lambda line: line,
    lambda line: b"kafka-1  | " + line,
    lambda line: json.dumps({"log": line.decode("utf-8", "replace"), "stream": "stdout", "time": ""}).encode() + b"\n",
]


def read(path: Path, splits: list[Split], zone: str = "UTC") -> tuple[Rows, int]:
    """The rows of some splits, and how many records the columnar reading took."""
    rows: Rows = {"request": [], "rejected": [], "failed": [], "file": []}
    taken = 0

    def counted(self: Any, *args: Any) -> tuple[int, int]:
        nonlocal taken
        found = take(self, *args)
        taken += found[1]
        return found

    take = RequestRows.take
    with patch.object(RequestRows, "take", counted):
        for batch in worker.read_splits(splits, zone):
            batch.validate(full=True)
            assert batch.schema == arrow_schema.SCHEMA
            for name in rows:
                column = batch.column(name)
                rows[name] += column.filter(column.is_valid()).to_pylist()
    return rows, taken


def by_record(path: Path, splits: list[Split], zone: str = "UTC") -> Rows:
    """The rows of some splits as the record parser alone reads them."""
    with (
        patch.object(RequestRows, "take", lambda self, buffer, start, offset, limit: (start, 0)),
        patch.object(RequestRows, "take_record", lambda self, record: False),
    ):
        return read(path, splits, zone)[0]


def check(path: Path, splits: list[Split], zone: str = "UTC") -> int:
    """Hold both readings to the same rows; how many records were taken."""
    found, taken = read(path, splits, zone)
    expected = by_record(path, splits, zone)
    for name, rows in expected.items():
        # repr tells 1 from True and 1.0, and 0.0 from -0.0
        assert [repr(row) for row in found[name]] == [repr(row) for row in rows], name
    return taken


def whole(path: Path) -> list[Split]:
    return [split_of(path, layout=head(path).layout)]


def cut(path: Path, size: int, step: int) -> list[Split]:
    """Ranges of a plain file; the start of a range may be any byte."""
    starts = range(0, size, step)
    return [split_of(path, at, at + step if at + step < size else None) for at in starts]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columnar") / "kafka-request.log"


@pytest.mark.parametrize("path", one_in(3, SAMPLES), ids=lambda path: path.parent.name)
def test_both_readings_agree_on_the_sample_logs(path: Path) -> None:
    check(path, whole(path))


@pytest.mark.oracle
@pytest.mark.skipif(not CORPUS_LOGS, reason=f"no logs in {CORPUS}: the corpus is not part of the repository")
@pytest.mark.parametrize("path", CORPUS_LOGS, ids=lambda path: "-".join(path.relative_to(CORPUS).parts[:-1]))
def test_both_readings_agree_on_real_logs(path: Path) -> None:
    check(path, whole(path))


@pytest.mark.parametrize(("name", "least"), [("kafka-4.4.0", 0.7), ("kafka-3.9.1-node1", 0.7)])
def test_most_json_records_are_plain(name: str, least: float) -> None:
    (path,) = (path for path in SAMPLES if path.parent.name == name)
    rows, taken = read(path, whole(path))
    assert taken >= least * len(rows["request"])


@pytest.mark.parametrize("step", one_in(2, [33_333, 4096, 200_000, 1000]))
@pytest.mark.parametrize("name", ["kafka-2.8.2", "kafka-4.4.0"])
def test_both_readings_agree_on_splits_of_any_size(log: Path, name: str, step: int) -> None:
    (path,) = (path for path in SAMPLES if path.parent.name == name)
    content = path.read_bytes()
    content = (gzip.decompress(content) if path.suffix == ".gz" else content)[:400_000]
    log.write_bytes(content)
    with patch.object(worker, "LOOKBACK", 5000):
        check(log, cut(log, len(content), step))


@pytest.mark.parametrize("at", ["1970-01-01 00:00:05,005", "1970-01-09 00:00:00,000", "9998-12-31 23:59:59,999"])
def test_both_readings_agree_at_the_ends_of_time(log: Path, at: str) -> None:
    """A request may have begun before the first instant that a table can hold."""
    usual = b"".join(json_record(correlation_id=number) for number in range(25))  # what begins a file isn't taken
    log.write_bytes(usual + b"".join(json_record(at=at, total=total) for total in (1, 10, 6000, 9e8)))
    assert check(log, whole(log))


def record(value: bytes, place: int, line: bytes) -> bytes:
    """The line with another value after one of its colons, up to the next comma or brace."""
    colons = [at for at in range(len(line)) if line[at : at + 2] == b'":']
    start = colons[place % len(colons)] + 2
    ends = [end for mark in (b",", b"}") if (end := line.find(mark, start)) >= 0]
    return line[:start] + value + line[min(ends, default=start) :]


VALUES = [*EXTREMES, b'"\\ud800"', b"Inf", b"-Infinity", b"nan", b"1E5", b"5.0", b"0.50", b"01", b"-0.0", b'"\\u0000"', b'""', b'"\xff"',
          '"\u00e9\u4e2d\U0001f600"'.encode(), b'"\xed\xa0\x80"', b'"a\tb"', b'"\x7f"', b"2139999999", b"2140000000",
          b"999999999", b"1000000000", b"999999999.999999", b" 1", b"1 ", b'"kafka.request.logger)"',
          b'"[2026-01-01 00:00:00,000] DEBUG Completed request:"', b'"x",', b"0.1234567", b"0.123456"]  # fmt: skip


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(JSON), st.sampled_from(VALUES), st.integers(0, 60)), min_size=1, max_size=8),
    st.sampled_from(ZONES),
    st.sampled_from(WRAPPERS),
)
def test_both_readings_agree_on_any_value_in_any_place(
    log: Path, changes: list[tuple[bytes, bytes, int]], zone: str, wrap: Callable[[bytes], bytes]
) -> None:
    changed = (record(value, place, line) for line, value, place in changes)
    log.write_bytes(b"".join(map(wrap, [*(line for one in changed for line in (JSON[0], one)), *[JSON[0]] * 3])))
    check(log, whole(log), zone)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(ZONES))
def test_both_readings_agree_on_damaged_logs(log: Path, seed: int, zone: str) -> None:
    random = Random(seed)
    parts = []
    for _ in range(12):
        line = random.choice(JSON)
        parts.append(mutated(line, OTHERS, random)[0] if random.random() < 0.4 else line)
        parts += [random.choice(OTHERS)] * (random.random() < 0.2) + [parts[-1]] * (random.random() < 0.2)
    log.write_bytes(b"".join(parts))
    with patch.object(worker, "BATCH_ROWS", random.choice((2, 5, 1000))):
        check(log, whole(log), zone)


@settings(max_examples=examples(12, least=4), deadline=None)
@given(torn_logs(), st.integers(200, 5000))
def test_both_readings_agree_on_torn_logs(log: Path, torn: bytes, step: int) -> None:
    log.write_bytes(JSON[0] * 3 + torn + JSON[0] * 3)
    check(log, whole(log))
    check(log, cut(log, log.stat().st_size, step))


def held(**fields: Any) -> dict[str, int]:
    """The bytes that rows say they hold of a request, of each reading."""
    line, parser = json_record(**fields), Parser()
    rows = {name: RequestRows(parser.clock) for name in ("plain", "other")}
    assert rows["plain"].take(line + json_record(), 0, 0, len(line)) == (len(line), 1)
    (event,) = parse(line)
    assert isinstance(event, RequestEvent)
    rows["other"].add(event)
    return {name: one.held for name, one in rows.items()}


TEXTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "client id": lambda text: {"client_id": text},
    "software": lambda text: {"software": (text, "1")},
    "connection id": lambda text: {"connection": f"10.0.0.1:9092-{text}:40000-0"},
    "request": lambda text: {"api": "JOIN_GROUP", "version": 7, "request": {"memberId": text}},
    "response": lambda text: {"api": "JOIN_GROUP", "version": 7, "response": {"leader": text}},
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_counts_the_bytes_of_every_text_that_it_holds(name: str) -> None:
    """A batch ends when it holds many, and clients choose how long their texts are."""
    short, long = held(**TEXTS[name]("a")), held(**TEXTS[name]("a" * 65))
    assert long["plain"] - short["plain"] == 64
    assert long["other"] - short["other"] >= 64


def logged(number: int, total: float, queue: float = 0.5) -> bytes:
    return json_record(correlation_id=number, total=total, queue=queue)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1.0, 1.5, 2]), st.booleans()), max_size=60),
    st.integers(2, 12),
    st.sampled_from([2, 7, 1000]),
)
def test_both_readings_find_the_same_duplicates(
    log: Path, requests: list[tuple[int, float, bool]], memory: int, rows: int
) -> None:
    # a blank before the logger more: such a record is not plain
    lines = [logged(n, total).replace(b" (kafka", b"  (kafka" if odd else b" (kafka") for n, total, odd in requests]
    log.write_bytes(b"".join([logged(99, 1.0), *lines, logged(98, 1.0)]))
    with patch("kafka_clientinfo.ingestion.columnar.MEMORY", memory), patch.object(worker, "BATCH_ROWS", rows):
        check(log, whole(log))
