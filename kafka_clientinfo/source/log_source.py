"""The data source itself, a thin layer over planning and reading: in a task, splits become batches of one table."""

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ..config.settings import Settings
from ..errors import ConfigError, InputError
from ..ingestion.arrow_schema import arrow_fields
from ..ingestion.plan import make_plan
from ..ingestion.planned import REPLACED, PlannedFile, Problem, Split, in_tasks, record_boundary, splits_of
from ..ingestion.split_statistics import file_row
from ..ingestion.worker import SplitReader
from ..printable import safe
from ..tables.spec import table_spec
from .options import RECORDS, Options, parse_options

_SMALL_TASK_BYTES = 16 << 20
_MOST_SMALL_TASKS = 64
_LOG = logging.getLogger("kafka_clientinfo.source")


@dataclass(frozen=True)
class Work:
    """What a task reads; `at` is the time of the reading, for `ingested_at`."""

    splits: tuple[Split, ...]
    options: Options
    at: datetime


class KafkaRequestLog(DataSource):
    """Request logs of Kafka brokers; see docs/howto/ways-in.md for the options."""

    @classmethod
    def name(cls) -> str:
        return "kafka_request_log"

    def schema(self) -> StructType:
        """Return all columns that the option `records` has; raises ConfigError for a wrong option."""
        return from_arrow_schema(row_schema(parse_options(dict(self.options))))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of what the logs hold now, with the columns of a schema; raises ConfigError for another one."""
        return LogReader(self._parsed(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader of what the logs hold and will hold; raises ConfigError as `reader` does."""
        from .stream import LogStream

        return LogStream(self._parsed(schema))

    def _parsed(self, schema: StructType) -> Options:
        types = {field.name: field.dataType for field in self.schema().fields}
        for field in schema.fields:
            if field.name not in types:
                raise ConfigError(f"the schema has the column {field.name!r}; give some of {', '.join(types)}")
            if field.dataType != types[field.name]:
                raise ConfigError(
                    f"the schema gives {field.name} the type {field.dataType.simpleString()}; give "
                    f"{types[field.name].simpleString()}, and cast the rows that are read"
                )
        return replace(parse_options(dict(self.options)), columns=tuple(schema.names))


class LogReader(DataSourceReader):
    """Reads what the logs hold when it is planned."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Plan the reading; raises InputError if the logs name nothing."""
        plan = make_plan(self._options.files(), {}, self._options.settings, 1)
        warn(plan.problems)
        tasks, settings = tasks_for(plan.size, self._options)
        if self._options.records == "ingested_files":  # a row counts all of its file, so a task reads all of it
            splits = [Split(file, file.resume_at, None) for file in plan.files]
        else:
            splits = [split for file in plan.files for split in splits_until(file, None, settings, tasks)]
        return [InputPartition(work) for work in divided(splits, self._options, tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        work: Work = partition.value
        return read(work)


def row_schema(options: Options) -> pa.Schema:
    """Return the columns of the rows as Arrow's, all nullable: those of the table, and where they were read."""
    of_table = arrow_fields(options.records, table_spec(options.records).read_names)
    of_file = arrow_fields("ingested_files", ("cluster", "broker", "path"))
    every = {field.name: field for field in [*of_table, *of_file]}
    return pa.schema([every[name] for name in (every if options.columns is None else options.columns)])


def tasks_for(size: int, options: Options) -> tuple[int, Settings]:
    """Return the number of tasks for so many bytes, and settings with which they can be cut into as many.

    A task knows nothing of the cluster. So unless the option `numPartitions` says how many, the bytes do: few are read in
    tasks of half a second, many in tasks of `split_bytes`.
    """
    settings = options.settings
    if options.partitions is None:
        return max(-(-size // settings.split_bytes), min(_MOST_SMALL_TASKS, -(-size // _SMALL_TASK_BYTES)), 1), settings
    split_bytes = min(settings.split_bytes, max(-(-size // options.partitions), 1))
    return options.partitions, replace(settings, split_bytes=split_bytes)


def divided(splits: Sequence[Split], options: Options, tasks: int) -> list[Work]:
    """Divide splits among tasks."""
    now = datetime.now(UTC)
    return [Work(own, options, now) for own in in_tasks(splits, tasks)]


def splits_until(planned: PlannedFile, end: int | None, settings: Settings, tasks: int) -> list[Split]:
    """Return the splits of a file's new bytes up to an offset; None reads to its end.

    Each begins where no record goes on, as far as the bytes before it show: a task cannot know what the others find.
    """
    if planned.compressed:
        return [Split(planned, planned.resume_at, end)]
    starts: list[int] = []
    for split in splits_of(planned, settings, tasks):
        start = split.start if split.start == planned.resume_at else record_boundary(planned, split.start)
        if start < (planned.size_on_disk if end is None else end) and (not starts or start > starts[-1]):
            starts.append(start)
    return [Split(planned, start, stop) for start, stop in zip(starts, [*starts[1:], end], strict=True)]


def warn(problems: Sequence[Problem]) -> None:
    """Log the files that are not read; to the driver's log, as Spark takes no messages of a data source."""
    for problem in problems:
        _LOG.warning("%s is not read (%s): %s", safe(problem.path), problem.kind, safe(problem.detail))


def read(work: Work) -> Iterator[pa.RecordBatch]:
    """Read the splits of a task.

    Raises:
        InputError: a file was replaced since it was planned, and what was planned is not found under another name; the file
            was cut inside a record, so that its rows would be wrong; or rows cannot be made.
    """
    for split in work.splits:
        reader = yield from _rows(split, work)
        if reader.error == REPLACED:
            reader = yield from _rows(_found_again(split, work), work)
        if reader.error == REPLACED:
            raise InputError(f"{split.file.path}: {REPLACED}; read again")
        if split.end is not None and reader.end > split.end:
            raise InputError(
                f"{split.file.path}: a record goes on after byte {split.end}, where another task began to read, as clients "
                f"wrote text that looks like records; read with the option split_bytes above {split.file.size_on_disk}"
            )
        if reader.error is not None:
            _LOG.warning("%s: %s", safe(split.file.path), safe(reader.error))


def _rows(split: Split, work: Work) -> Generator[pa.RecordBatch, None, SplitReader]:
    """Yield the rows of a split; return its reader, which knows how the reading ended."""
    schema = row_schema(work.options)
    reader = SplitReader(split, work.options.settings.log_zone, reads_topics=False)
    known = {**split.file.where, "ingested_at": work.at}
    for kind, rows in reader.parts():
        if kind == RECORDS[work.options.records]:
            columns = {field.name: array for field, array in zip(rows.schema, rows.columns, strict=True)}
            for name in known.keys() & set(schema.names) - columns.keys():
                columns[name] = pa.repeat(pa.scalar(known[name], schema.field(name).type), len(rows))
            yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    if work.options.records == "ingested_files" and reader.error != REPLACED:
        row = file_row(split.file, reader.statistics().rows.to_pylist(), "", work.at)
        yield pa.RecordBatch.from_pylist([row], schema=schema)
    return reader


def _found_again(split: Split, work: Work) -> Split:
    """Return the split in the file that holds its log now: rotated logs have another name, or are compressed."""
    row = split.file.ledger_row
    ledger: Mapping[str, Mapping[str, Any]] = {split.file.file_id: row} if row else {}
    plan = make_plan(work.options.files(), ledger, work.options.settings, 1)
    for file in plan.files:
        if file.file_id == split.file.file_id:
            return split._replace(file=replace(file, is_over=split.file.is_over))
    raise InputError(f"{split.file.path}: {REPLACED}, and its log is not found under another name; read again")
