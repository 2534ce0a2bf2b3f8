"""The data source itself: a thin layer over planning and reading."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ..ingestion.plan import make_plan
from .options import Options, parse_options
from .rows import Work, divided, read, splits_until, table_schema, warn


class KafkaRequestLog(DataSource):
    """Request logs of Kafka brokers; see the package for the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka_request_log"

    def schema(self) -> StructType:
        """Return the columns of the table that the option `records` names; raises ConfigError for a wrong option."""
        return from_arrow_schema(table_schema(self._parsed().records))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of what the logs hold now."""
        options = self._parsed()
        return _FilteringReader(options) if options.push_down else LogReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader of what the logs hold and will hold."""
        from .stream import LogStream

        return LogStream(self._parsed())

    def _parsed(self) -> Options:
        return parse_options(dict(self.options))


class LogReader(DataSourceReader):
    """Reads what the logs hold when it is planned."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Plan the reading; raises InputError if the logs name nothing."""
        settings, tasks = self._options.settings, os.cpu_count() or 1
        plan = make_plan(self._options.files(), {}, settings, 1)
        warn(plan.problems)
        tasks = max(tasks, -(-plan.size // settings.split_bytes))
        splits = [split for file in plan.files for split in splits_until(file, None, settings, tasks)]
        return [InputPartition(work) for work in divided(splits, self._options, tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the work of one task."""
        work: Work = partition.value
        return read(work)


class _FilteringReader(LogReader):
    """Reads only rows that Spark asks for. Spark refuses such a reader unless the session allows it."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._filters: list[Any] = []

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802
        """Take the filters that can be applied here, and return the others (Spark 4.1)."""
        from .filters import supported

        self._filters = list(supported(filters, table_schema(self._options.records)))
        return [one for one in filters if not any(one is taken for taken in self._filters)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the work of one task, and leave out rows that no filter lets through."""
        from .filters import filtered

        for batch in super().read(partition):
            yield filtered(batch, self._filters)
