"""Buckets of time of equal length, counted from the epoch."""

from .engine import Column, F

MINUTE, DAY = 60, 86_400
"""The seconds of a minute, and of a day."""


def bucket_number(at: str, seconds: int) -> Column:
    """Return the number of the bucket that holds a time; buckets are so many seconds long."""
    # Arithmetic with seconds is exact for every length of a bucket and raises no ANSI errors, as dates might.
    return F.floor(F.unix_seconds(at) / seconds).cast("bigint")


def bucket_start(number: Column, seconds: int) -> Column:
    """Return when a bucket begins."""
    return F.timestamp_seconds(number * seconds)
