"""Which relations of this concern may have rows, by what `client_activity` has: a relation, not a table.

Most logs show nobody near the limits. It takes one look to see that, and seconds to make the relations.
"""

from functools import reduce
from operator import or_

from ...config.settings import Settings
from ...connections.engine import DataFrame, F
from .request_floods import FLOODING

DEPENDENT = ("connection_storms", "request_floods", "throttled_clients", "whole_periods")
"""The relations that are made only where they are listed."""


def transform(client_activity: DataFrame, settings: Settings) -> DataFrame:
    """Return the names of the relations that may have rows, in the column `relation`."""
    limits = settings.policy.activity
    minutes = in_one_bucket(limits.minutes, settings.bucket_minutes)
    is_flooding = F.col("api_name").isin(*FLOODING) & (F.col("requests") >= limits.requests_per_minute * minutes)
    may_have_rows = {
        "connection_storms": F.col("connections_opened") >= limits.short_connections_per_minute * minutes,
        "request_floods": is_flooding,
        "throttled_clients": F.col("throttled_ms") > 0,
    }
    conditions = {**may_have_rows, "whole_periods": reduce(or_, may_have_rows.values())}
    names = F.array(*(F.when(conditions[name], F.lit(name)) for name in DEPENDENT))
    return client_activity.select(F.explode(F.array_compact(names)).alias("relation")).distinct()


def in_one_bucket(minutes: int, bucket_minutes: int) -> int:
    """Return how many of so many minutes in a row lie in one bucket at least: they lie in two, or fill one."""
    return min(bucket_minutes, (minutes + 1) // 2)
