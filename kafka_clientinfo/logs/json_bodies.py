"""Objects in JSON, and the check of bodies from 2.8 on: a body is kept only if every engine reads the same in it.

Brokers write standard JSON, but a damaged or forged log may hold anything, and engines differ. Spark reads the first
value of a text, ignores the rest, and accepts single quotes; DuckDB accepts a trailing comma; both read NaN. So a body
must be one object by the standard (RFC 8259), within the limits of the strictest reader. Any other body becomes null,
as an absent one.
"""

import json
import re
from functools import lru_cache
from math import isinf
from typing import Any

from .struct_text import MAX_BODY

MAX_DEPTH = 100
"""Levels of nested objects and lists. Kafka has fewer than 10; Spark reads 1000, Python as many as its stack allows."""
MAX_NUMBER = 1000
"""Characters of a number; the limit of Jackson, which reads JSON for Spark."""
MAX_NAME = 50_000
"""Bytes of a field's name; Jackson's limit is as many characters."""
_CACHED_SIZE = 8 << 10
"""Bytes of the largest body that is cached; responses to ApiVersions and heartbeats repeat."""
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATES = re.compile(rb"\\\\|%b%b|(%b|%b)" % (_HIGH, _LOW, _HIGH, _LOW))
"""An escaped backslash or surrogate in JSON; group 1 is a surrogate without its other half."""
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"([ \t\r\n]*+:)?')
"""A string of valid JSON; group 2 matches if it is a field's name."""
_BRACKETS = {**dict.fromkeys(map(ord, "{["), "["), **dict.fromkeys(map(ord, "}]"), "]")}
_NUMBERS = dict.fromkeys(map(ord, "+-.eE123456789"), "0")


def json_object(text: bytes) -> dict[str, Any] | None:
    if not text.startswith(b"{"):
        return None
    try:
        value: dict[str, Any] = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value


def json_body(text: bytes) -> str | None:
    """Return the JSON text of a body; None if it is absent, empty, too long, or engines may read it differently."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    return _read_cached(text) if len(text) <= _CACHED_SIZE else _read(text)


def _read(data: bytes) -> str | None:
    if b"\\u" in data:  # engines read a lone surrogate as different texts, or not at all
        data = _SURROGATES.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data)
    text = data.decode("utf-8", "replace")
    try:
        json.loads(text, parse_float=_check_float, parse_constant=int)  # int refuses NaN and the infinities
    except (ValueError, RecursionError):
        return None
    # Each level needs two brackets, so a shorter text cannot exceed any of the limits.
    return text if len(text) <= 2 * MAX_DEPTH or _is_within_limits(text) else None


_read_cached = lru_cache(maxsize=256)(_read)


def _check_float(digits: str) -> None:
    """Raise ValueError if a number exceeds doubles, because Spark writes it as Infinity and DuckDB unchanged."""
    if len(digits) > MAX_NUMBER or isinf(float(digits)):
        raise ValueError(digits[:40])


def _is_within_limits(text: str) -> bool:
    if len(text) > MAX_NAME and any(
        string[2] and len(string[1].encode()) > MAX_NAME for string in _STRING.finditer(text)
    ):
        return False
    may_be_deep = text.count("{") + text.count("[") > MAX_DEPTH
    if not may_be_deep and not _holds_long_number(text):
        return True  # brackets and digits in strings only add to these counts; to remove strings is expensive
    bare = _STRING.sub("", text)
    return not _nests_too_deeply(bare) and not _holds_long_number(bare)


def _holds_long_number(text: str) -> bool:
    return len(text) > MAX_NUMBER and "0" * (MAX_NUMBER + 1) in text.translate(_NUMBERS)


def _nests_too_deeply(bare: str) -> bool:
    brackets = re.sub(r"[^\[\]{}]+", "", bare).translate(_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace("[]", "")
        if not brackets:
            return False
    return True
