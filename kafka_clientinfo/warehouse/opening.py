"""Opens a warehouse for a run: waits for its lock, checks and mends it, and commits at the end what the run wrote."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import SparkSession

from ..config.settings import Settings
from ..spark.session_conf import own_session, sized
from .locks import exclusive
from .progress import Stages
from .warehouse import Warehouse


@contextmanager
def opened(spark: SparkSession, root: str, settings: Settings, report: Stages) -> Iterator[Warehouse]:
    """Hold a warehouse for a run, in a session of its own, so that nobody else sees what it sets; commit if the block ends well.

    Raises WarehouseError as `exclusive`, `Warehouse.open` and `Warehouse.commit` do.
    """
    spark = own_session(spark)
    with exclusive(root, settings.lock_wait_seconds) as after_kill:
        tables = Warehouse(spark, root, private=settings.private_raw_bytes, after_kill=after_kill)
        with tables.staging.removed_after(), ExitStack() as named:
            with sized(spark, 0), report.stage("prepare"):  # little work, until the amount is known
                tables.open()
                named.enter_context(tables.named())
                tables.mend()
            try:
                yield tables
                if tables.has_written:
                    with sized(spark, 0):
                        tables.commit(report, settings.fingerprint())
            except Exception as error:
                tables.claims.raise_if_conflict(error)
                raise
