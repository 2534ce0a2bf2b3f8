"""The filters of commands that answer questions: what they mean, and the conditions in SQL that they make."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from . import console
from .errors import ConfigError

_HELP = {
    "since": ("T", "only what was there at this time or later: ISO 8601 in UTC, or 30m, 12h, 7d before the present"),
    "until": ("T", "only what was there before this time; as --since"),
    "cluster": ("NAME", "only this cluster"),
    "principal": ("TEXT", "only this principal, such as User:alice; * stands for any characters"),
    "client": ("TEXT", "only this client id; * stands for any characters"),
}
_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_filters(parser: argparse.ArgumentParser, *names: str) -> None:
    """Declare filters by their names: since, until, cluster, principal, client."""
    group = parser.add_argument_group("filters")
    for name in names:
        metavar, text = _HELP[name]
        group.add_argument(f"--{name}", metavar=metavar, help=text)


def given_time(text: str, option: str, now: datetime | None = None) -> datetime:
    """A time in UTC from an argument: ISO 8601, or a time span such as 7d before the present.

    A date alone is its midnight, and no zone means UTC.

    Raises:
        ConfigError: when it is neither.
    """
    try:
        if span := _AGO.fullmatch(text):
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[span[2]]: int(span[1])})
        value = datetime.fromisoformat(text)
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"{option} is {text!r}; give a time such as 2026-11-21 or 2026-11-21T02:00:00Z, or 7d for seven days ago"
        ) from None


@dataclass(frozen=True)
class Filters:
    """What is asked for; None where all is."""

    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None
    principal: str | None = None
    client: str | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Filters":
        """From the arguments of a command, which may have only some of them.

        Raises:
            ConfigError: when a time is none, or a text is not UTF-8.
        """
        texts: dict[str, str | None] = {name: getattr(arguments, name, None) for name in _HELP}
        times: dict[str, datetime | None] = dict.fromkeys(("since", "until"))
        for name, text in texts.items():
            if text is not None:
                console.argument(f"--{name}", text)
                if name in times:
                    times[name] = given_time(text, f"--{name}")
        return cls(times["since"], times["until"], texts["cluster"], texts["principal"], texts["client"])

    def where(self, begin: str = "first_seen", end: str = "last_seen") -> str:
        """A condition in SQL, with parameters in braces, on rows that last from one column's time to the other's."""
        conditions = ["true"]
        if self.since is not None:
            conditions.append(f"{end} >= CAST({{since}} AS TIMESTAMP)")
        if self.until is not None:
            conditions.append(f"{begin} < CAST({{until}} AS TIMESTAMP)")
        if self.cluster is not None:
            conditions.append("cluster = {cluster}")
        if self.principal is not None:
            conditions.append("coalesce(principal, '') LIKE {principal} ESCAPE '!'")
        if self.client is not None:
            conditions.append("coalesce(client_id, '') LIKE {client} ESCAPE '!'")
        return " AND ".join(conditions)

    @property
    def parameters(self) -> Mapping[str, str]:
        """Values of the parameters in `where`."""
        times = {"since": self.since, "until": self.until}
        texts = {name: f"{time:%Y-%m-%d %H:%M:%S.%f}" for name, time in times.items() if time is not None}
        patterns = {"principal": self.principal, "client": self.client}
        texts |= {name: _pattern(text) for name, text in patterns.items() if text is not None}
        return texts if self.cluster is None else texts | {"cluster": self.cluster}


def _pattern(text: str) -> str:
    """The pattern of LIKE for a text in which * stands for any characters."""
    return re.sub(r"[!%_]", r"!\g<0>", text).replace("*", "%")
