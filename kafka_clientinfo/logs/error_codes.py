"""The error codes in a response: its own, and those of its topics, partitions, members and other entries.

All fields with error codes have names that end with `ErrorCode`, as `partitionErrorCode`. In JSON a quote inside a text
has a backslash before it, so `rrorCode":` can only end the name of a field, whatever clients write.
"""

import re
from collections import Counter

from .generations.fields import INT16
from .struct_text import struct_body

ErrorCodes = tuple[tuple[int, int], ...]
"""Error codes other than 0, in order, each with the number of its occurrences."""

NO_ERRORS: ErrorCodes = ()
_JSON_ERROR = re.compile(rb'rrorCode":(?!0[,}])(-?\d{1,6})(?=[,}])')
_STRUCT_ERROR = re.compile(rb"rror_code=(?!0[,}])(-?\d{1,6})(?=[,}])")


def json_error_codes(data: bytes, start: int, end: int) -> ErrorCodes | None:
    """Return the error codes of the response at data[start:end]; None if no response is logged there."""
    if not data.startswith(b"{", start, end):
        return None  # acks=0: an empty text or null
    if _JSON_ERROR.search(data, start, end) is None:
        return NO_ERRORS
    return _counted(_JSON_ERROR.findall(data, start, end))


def struct_error_codes(response: bytes, key: int, version: int) -> ErrorCodes | None:
    """Return the error codes of a response before 2.8 in struct text; None if none is logged.

    Its texts are raw, and may look like fields. So where there may be an error, the response is read by its schema.
    """
    if not response.startswith(b"{"):
        return None
    if _STRUCT_ERROR.search(response) is None:
        return NO_ERRORS
    converted = struct_body(response, key, version, "response")
    if converted is None:
        return _counted(_STRUCT_ERROR.findall(response))
    return _counted(_JSON_ERROR.findall(converted.encode("utf-8", "replace")))


def _counted(codes: list[bytes]) -> ErrorCodes:
    counts = Counter(code for code in map(int, codes) if code in INT16)
    return tuple(sorted(counts.items()))
