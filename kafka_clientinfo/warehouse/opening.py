"""Opens a warehouse for a run: waits for its lock, checks it, and finishes what a killed run has begun to delete."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from ..config.settings import Settings
from ..spark.session_conf import own_session, sized
from .forgetting import finish_removal
from .locks import exclusive
from .progress import Stages
from .retention import finish_deletion
from .warehouse import Warehouse


@contextmanager
def opened(spark: SparkSession, root: str, settings: Settings, report: Stages) -> Iterator[Warehouse]:
    """Hold a warehouse for a run, after finishing any deletion under way; remove the run's staged tables at the end.

    The run has a session of its own, so that nobody else sees what it sets.

    Raises:
        WarehouseError: as `exclusive` and `Warehouse.open` do.
    """
    spark = own_session(spark)
    with exclusive(root, settings.lock_wait_seconds, report.on_stage, spark) as locked:
        tables = Warehouse(spark, root, locked, private=settings.private_raw_bytes)
        with tables.staging.removed_after():
            with sized(spark, 0), report.stage("prepare"):  # little work, until the amount is known
                tables.open()
                finish_deletion(tables)
                finish_removal(tables)
            yield tables
