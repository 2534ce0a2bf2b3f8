"""Bodies from 2.8 on: texts that are kept only if every engine reads the same in them.

Brokers write plain JSON. A damaged or forged log may hold anything: Spark reads the first value of a text and ignores
what follows it, and takes single quotes; DuckDB takes a comma too many; both read NaN. So a body must be one object by
the standard (RFC 8259), and within the limits of the strictest reader; any other is null, as an absent one.
"""

import json
import re
from functools import lru_cache
from math import isinf
from typing import NoReturn

from .struct_text import MAX_BODY

MAX_DEPTH = 100
"""Objects and lists in each other. Kafka nests fewer than 10, Spark reads 1000, Python as many as its stack holds."""
MAX_NUMBER = 1000
"""Characters of a number; Jackson, which reads JSON for Spark, takes no more."""
MAX_NAME = 50_000
"""Bytes of a field's name; Jackson takes as many characters."""
_CACHED_SIZE = 8 << 10
"""Bytes of a body that is cached at most: answers to ApiVersions and heartbeats repeat."""
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATES = re.compile(rb"\\\\|%b%b|(%b|%b)" % (_HIGH, _LOW, _HIGH, _LOW))
"""Escapes in JSON; group 1 is half of a character beyond 16 bits, alone."""
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"([ \t\r\n]*+:)?')
"""A string of valid JSON; group 2 matches if it is a field's name."""
_BRACKETS = {**dict.fromkeys(map(ord, "{["), "["), **dict.fromkeys(map(ord, "}]"), "]")}
_NUMBERS = dict.fromkeys(map(ord, "+-.eE123456789"), "0")


def json_body(text: bytes) -> str | None:
    """Return the JSON text of a body; None for one that is absent, empty, overlong, or not read alike by all engines."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    return _read_cached(text) if len(text) <= _CACHED_SIZE else _read(text)


def _read(data: bytes) -> str | None:
    if b"\\u" in data:  # engines read half a character as different texts, or not at all
        data = _SURROGATES.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data)
    text = data.decode("utf-8", "replace")
    try:
        json.loads(text, parse_float=_check_float, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    # Two brackets for each level: what is shorter can hold neither more levels nor a longer number or name.
    return text if len(text) <= 2 * MAX_DEPTH or _is_within_limits(text) else None


_read_cached = lru_cache(maxsize=256)(_read)


def _check_float(digits: str) -> None:
    """Raise if a number is beyond doubles, which Spark writes as Infinity and DuckDB as it stands."""
    if len(digits) > MAX_NUMBER or isinf(float(digits)):
        raise ValueError(digits[:40])


def _refuse(constant: str) -> NoReturn:
    """Raise for NaN and infinities, which Python reads."""
    raise ValueError(constant)


def _is_within_limits(text: str) -> bool:
    """Return whether all engines read a text of valid JSON."""
    if len(text) > MAX_NAME and any(
        string[2] and len(string[1].encode()) > MAX_NAME for string in _STRING.finditer(text)
    ):
        return False
    may_be_deep = text.count("{") + text.count("[") > MAX_DEPTH
    if not may_be_deep and not _holds_long_number(text):
        return True  # strings, which cost most to leave out, can only add to what was looked for
    bare = _STRING.sub("", text)
    return not _nests_too_deeply(bare) and not _holds_long_number(bare)


def _holds_long_number(text: str) -> bool:
    """Return whether more than `MAX_NUMBER` characters of numbers follow each other."""
    return len(text) > MAX_NUMBER and "0" * (MAX_NUMBER + 1) in text.translate(_NUMBERS)


def _nests_too_deeply(bare: str) -> bool:
    """Return whether JSON without strings has more than `MAX_DEPTH` levels; each round takes the innermost away."""
    brackets = re.sub(r"[^\[\]{}]+", "", bare).translate(_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace("[]", "")
        if not brackets:
            return False
    return True
