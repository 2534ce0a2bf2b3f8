"""Reads and checks the TOML files that people write; an error names the position and what to do.

Their regular expressions match whole texts that clients wrote. Python checks them; Spark runs those of a policy in Java, and
DuckDB in RE2.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError

LONGEST_TEXT = 255
"""The most characters of a client's text that a pattern may see; a longer text matches no pattern."""


def text_of(path: str | Path, what: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an invalid path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"cannot read the {what} {path}: {reason}") from None


def parsed(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from None


def check_names(
    data: Mapping[str, Any], known: Iterable[str], where: str, kind: str = "property", fix: str = ""
) -> None:
    """Raise ConfigError if a table has other names than the known ones; the error gives these, or `fix`."""
    if unknown := sorted(set(data) - set(known)):
        fix = fix or f"known are {', '.join(known)}"
        raise ConfigError(f"{where}: unknown {kind} {unknown[0]!r}; {fix}")


def list_of_texts(data: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}: {name} is {shown(value)}; give a list of texts")
    return tuple(value)


def checked_pattern(pattern: str, where: str) -> re.Pattern[str]:
    """Compile a pattern; the ConfigError if it does not names it, and the file and key that hold it (`where`)."""
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{where}: {pattern!r} is no regular expression: {error}") from None


def shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:79]}…"
