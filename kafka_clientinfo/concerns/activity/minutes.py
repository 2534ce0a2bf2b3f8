"""What the relations about activity share: minutes in a row, and joins by keys that may be null."""

from collections.abc import Sequence

from ...connections.buckets import MINUTE, bucket_number, bucket_start
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import joined_by

IDENTITY = ("cluster", "broker", "listener", "principal", "client_id")
"""What `client_activity` and `connections` know alike of a client; null is a value."""
SOFTWARE = ("client_software_name", "client_software_version")


def minute_of(at: str) -> Column:
    """Return the number of the minute of a time, counted from the epoch."""
    return bucket_number(at, MINUTE)


def begin_of(minute: Column) -> Column:
    """Return when a minute begins."""
    return bucket_start(minute, MINUTE)


def lasting(rows: DataFrame, key: Sequence[str], minutes: int) -> DataFrame:
    """Return the rows in runs of at least so many minutes in a row; a key has at most one row per minute."""
    of_key = Window.partitionBy(*key).orderBy("minute")
    numbered = rows.withColumn("run", F.col("minute") - F.row_number().over(of_key))
    length = F.count("*").over(Window.partitionBy(*key, "run"))
    return numbered.withColumn("minutes_in_a_row", length).where(F.col("minutes_in_a_row") >= minutes).drop("run")


def of_same_key(rows: DataFrame, others: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return the rows with a key that a few others have; null is a value of a key."""
    keys = others.select(*key).distinct().withColumn("is_listed", F.lit(True))
    joined = joined_by(rows, F.broadcast(keys), key)
    return joined.where(F.col("is_listed")).drop("is_listed")
