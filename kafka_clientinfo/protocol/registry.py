"""Registries of message schemas and their codecs, and look-ups in them.

`released()` has the messages of released brokers; `drafts(name)` has those of one set of drafts as well. Drafts
(KIP-1313's example numbers, the alternatives that KIP-35 rejected) use numbers to which released brokers give another
meaning, so a caller must ask for a set by its name. They are in schemas/messages/drafts/SET.MESSAGE.json. KIP-1313 also
adds a version with header 3 to every API; it has the fields of the latest version and is made here.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from kafka_clientinfo import resources
from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.codec import Codec, compile_codec
from kafka_clientinfo.protocol.field_specs import FieldSpec
from kafka_clientinfo.protocol.schema import FROZEN_HEADER, MessageSchema, parse_schema

WITHOUT_HEADER_V3 = "SaslHandshakeRequest"
"""The one API that KIP-1313 excludes, because clients never negotiate its version."""


class Registry:
    """Schemas by API key and by name, and their codecs, each compiled at its first use.

    Attributes:
        requests: request schemas by API key.
        responses: response schemas by API key.
        others: headers and group payloads by name.
    """

    def __init__(self, schemas: Iterable[MessageSchema]) -> None:
        """Index the schemas; a later schema of the same message replaces an earlier one.

        Raises:
            SchemaError: an API has a request but no response, or the other way round.
        """
        by_kind: dict[str, dict[Any, MessageSchema]] = {kind: {} for kind in ("request", "response", "header", "data")}
        for schema in schemas:
            by_kind[schema.kind][schema.name if schema.api_key is None else schema.api_key] = schema
        self.requests: Mapping[int, MessageSchema] = MappingProxyType(by_kind["request"])
        self.responses: Mapping[int, MessageSchema] = MappingProxyType(by_kind["response"])
        self.others: Mapping[str, MessageSchema] = MappingProxyType(by_kind["header"] | by_kind["data"])
        for key in self.requests.keys() ^ self.responses.keys():
            raise SchemaError(f"API key {key}: has only one of request and response; add the other schema")
        self._codecs: dict[tuple[str, int], Codec] = {}

    def schema(self, kind: str, api_key: int) -> MessageSchema | None:
        """Return the schema of an API; `kind` is `request` or `response`. None for an unknown API."""
        return (self.requests if kind == "request" else self.responses).get(api_key)

    def request_header_version(self, api_key: int, api_version: int) -> int | None:
        """Return the version of the request header, 0 to 3; None for an unknown API or a negative version."""
        schema = self.requests.get(api_key)
        return None if schema is None else schema.header_version(api_version)

    def codec(self, schema: MessageSchema, version: int) -> Codec:
        """Return the compiled codec of a message in a version.

        Raises:
            SchemaError: the version is not valid, or only the header of the message is known.
        """
        codec = self._codecs.get((schema.name, version))
        if codec is None:
            codec = self._codecs[schema.name, version] = compile_codec(schema, version)
        return codec

    def named(self, name: str, version: int) -> Codec:
        """Return the codec of a header or a group payload, such as `RequestHeader`.

        Raises:
            SchemaError: there is no such message or version.
        """
        if name not in self.others:
            raise SchemaError(f"{name}: no such message; known are {', '.join(sorted(self.others))}")
        return self.codec(self.others[name], version)


def _load(drafts: str) -> Iterable[MessageSchema]:
    messages = resources.schemas() / "messages"
    for file, text in resources.texts(messages, ".json"):
        yield parse_schema(text, file)
    if drafts:
        for file, text in resources.texts(messages / "drafts", ".json"):
            if file.startswith(drafts + "."):
                yield parse_schema(text, f"drafts/{file}")


@cache
def released() -> Registry:
    """Return the messages of released brokers, and messages of KIP-1313 with numbers that no release uses.

    Raises:
        SchemaError: a file in schemas/messages breaks a rule.
    """
    return Registry(_load(""))


@cache
def drafts(name: str) -> Registry:
    """Return the same registry with one set of drafts, which replace released messages of the same numbers.

    Raises:
        SchemaError: there is no such set.
    """
    if name not in draft_names():
        raise SchemaError(f"no drafts {name!r}; there are {', '.join(draft_names())}")
    schemas = _load(name)
    return Registry(_with_header_v3(schemas) if name == "KIP-1313" else schemas)


def _with_header_v3(schemas: Iterable[MessageSchema]) -> Iterable[MessageSchema]:
    """Yield the schemas with a version with header 3 for every API but SaslHandshake, if it has none yet (KIP-1313)."""
    latest = Registry(schemas)
    for key, request in latest.requests.items():
        response = latest.responses[key]
        has_one = request.header_version(request.latest) == 3
        if has_one or request.name == WITHOUT_HEADER_V3:
            yield from (request, response)
        else:
            yield request.with_version(3)
            yield response.with_version(0 if response.name in FROZEN_HEADER else 1)
    yield from latest.others.values()


def draft_names() -> tuple[str, ...]:
    """Return the names of the sets of drafts: `KIP-1313`, `KIP-35-option-3` and `KIP-35-revision-30`."""
    folder = resources.schemas() / "messages" / "drafts"
    return tuple(sorted({file.split(".")[0] for file, _ in resources.texts(folder, ".json")}))


def header_versions(api_key: int, api_version: int, *, registry: Registry | None = None) -> tuple[int, int]:
    """Return the versions of the request header (0 to 3) and the response header (0 or 1) of an API version.

    Versions newer than the schemas follow the open last range of `headerVersions` (KIP-1313).

    Raises:
        SchemaError: the API is unknown, or the version negative.
    """
    registry = registry or released()
    request = registry.request_header_version(api_key, api_version)
    response = None if request is None else registry.responses[api_key].header_version(api_version)
    if request is None or response is None:
        raise SchemaError(f"API key {api_key} version {api_version}: not known; look at schemas/messages")
    return request, response


def request_header_version(api_key: int, api_version: int) -> int | None:
    """Return the version of released brokers' request header, 0 to 3; None for an unknown API or a negative version."""
    return released().request_header_version(api_key, api_version)


def supports(api_key: int, api_version: int, *, registry: Registry | None = None) -> bool:
    """Return whether the request body and the response body of this API version have schemas."""
    bodies = (fields(api_key, api_version, kind, registry=registry) for kind in ("request", "response"))
    return all(body is not None for body in bodies)


def fields(
    api_key: int, api_version: int, kind: str, *, registry: Registry | None = None
) -> tuple[FieldSpec, ...] | None:
    """Return the fields of a body in wire order, tagged fields last; `kind` is `request` or `response`.

    Before 2.4 brokers logged some fields under other names (`group_protocols` for `protocols`), but always in this
    order, so match them by position.

    Returns:
        The fields, or None if the body of this version has no schema.
    """
    registry = registry or released()
    schema = registry.schema(kind, api_key)
    if schema is None or schema.fields is None or api_version not in schema.valid:
        return None
    return registry.codec(schema, api_version).spec.fields
