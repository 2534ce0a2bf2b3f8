"""Which bodies are kept, and how: one JSON shape for every generation of the log.

Only control APIs keep theirs (`apis.CONTROL_APIS`).
"""

import re
from functools import lru_cache
from typing import Literal

from ..protocol import ApiKey, FieldSpec, fields
from .struct_text import struct_to_json

MAX_BODY = 1 << 20
"""Bytes of one body; a longer one (PushTelemetry's metrics) is left out."""

# The top-level error code stands before any array or after all of them, never inside: the first brace opens the
# body and the last one closes it.
_JSON_ERROR_LEFT = re.compile(rb'\{(?:"\w+":(?:-?\d+|null|true|false|"[^"\\]*"),){0,6}"errorCode":(-?\d{1,6})[,}]')
_JSON_ERROR_RIGHT = re.compile(rb'"errorCode":(-?\d{1,6})\}\Z')
_ERROR_CODE = b'"errorCode":'
_TEXT_ERROR_LEFT = re.compile(rb"\{(?:\w+=[^,\[\]{}=]*,){0,6}error_code=(-?\d{1,6})[,}]")
_TEXT_ERROR_RIGHT = re.compile(rb"[,{]error_code=(-?\d{1,6})(?:,_tagged_fields=\{\})?\}\Z")


def json_error_code(data: bytes, start: int = 0, end: int | None = None) -> int | None:
    """The top-level errorCode of the response in JSON at data[start:end]; None where it has none."""
    end = len(data) if end is None else end
    found = _JSON_ERROR_LEFT.match(data, start, end)
    if found is None and data.find(_ERROR_CODE, max(start, end - 32), end) >= 0:
        found = _JSON_ERROR_RIGHT.search(data, max(start, end - 32), end)
    return int(found[1]) if found else None


def text_error_code(response: bytes) -> int | None:
    """The top-level error_code of a response in struct text; None where it has none."""
    found = _TEXT_ERROR_LEFT.match(response) or _TEXT_ERROR_RIGHT.search(response, len(response) - 64)
    return int(found[1]) if found else None


@lru_cache(maxsize=1024)
def _fields(key: int, version: int, kind: Literal["request", "response"]) -> tuple[FieldSpec, ...] | None:
    known = fields(key, version, kind)
    if known is None and key == ApiKey.API_VERSIONS:
        # KIP-511: an unsupported version is answered, and its body logged, as v0.
        return fields(key, 0, kind)
    return known


def struct_body(text: bytes, key: int, version: int, kind: Literal["request", "response"]) -> str | None:
    """The JSON text of a struct-text body of a control API; None where there is none."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    decoded = text.decode("utf-8", "replace")
    known = _fields(key, version, kind)
    converted = struct_to_json(decoded, known)
    if converted is None and known is not None:
        return struct_to_json(decoded, None)
    return converted


def json_body(text: bytes) -> str | None:
    """The JSON text of a body logged in JSON; None for an absent, empty or overlong one."""
    if len(text) > MAX_BODY or not text.startswith(b"{"):
        return None
    return text.decode("utf-8", "replace")
