"""The limits from which on the behaviour of a client is reported: the table `activity` of the policy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import ConfigError
from .toml_files import check_names, shown

_RANGES = {
    "minutes": (1, 60),
    "short_connections_per_minute": (1, 1_000_000),
    "short_seconds": (1, 600),
    "requests_per_minute": (1, 10_000_000),
    "times_median": (1, 1_000_000),
    "requests_per_minute_always": (1, 10_000_000),
    "errors_per_minute": (1, 10_000_000),
    "errors_percent": (51, 100),
    "throttled_percent": (1, 100),
}
"""The lowest and highest value of each limit."""


@dataclass(frozen=True, slots=True)
class ActivityLimits:
    """The limits of the rules on activity.

    The defaults lie above what clients do by their own defaults: a Java client that retries every 100 ms sends 600
    requests a minute.

    Attributes:
        minutes: how many minutes in a row a behaviour must last; a restart or a new leader is over before.
        short_connections_per_minute: short connections of one client from one host to one broker.
        short_seconds: a connection is short if its last request comes so soon after its first.
        requests_per_minute: requests of one API on each connection, for a flood.
        times_median: a flood is so many times what the client sends in the median of its minutes.
        requests_per_minute_always: a flood, whatever the median.
        errors_per_minute: requests of one API that are answered with an error that does not go away.
        errors_percent: the share of such answers; most of them, so more than half.
        throttled_percent: the share of its time for which a client is throttled.
    """

    minutes: int = 3
    short_connections_per_minute: int = 120
    short_seconds: int = 10
    requests_per_minute: int = 1200
    times_median: int = 10
    requests_per_minute_always: int = 6000
    errors_per_minute: int = 20
    errors_percent: int = 90
    throttled_percent: int = 25


def activity_limits(data: Mapping[str, Any], source: str) -> ActivityLimits:
    """Return the limits of the policy's table; those that it leaves out keep their defaults.

    Raises:
        ConfigError: it names the file, the limit, what was found and what to do.
    """
    check_names(data, [limit.name for limit in fields(ActivityLimits)], f"{source}: activity")
    for name, value in data.items():
        low, high = _RANGES[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(
                f"{source}: activity.{name} is {shown(value)}; give a whole number from {low} to {high:,}"
            )
    limits = ActivityLimits(**data)
    if limits.requests_per_minute_always < limits.requests_per_minute:
        raise ConfigError(
            f"{source}: activity.requests_per_minute_always is {limits.requests_per_minute_always}, which is below "
            f"requests_per_minute; give at least {limits.requests_per_minute}"
        )
    return limits
