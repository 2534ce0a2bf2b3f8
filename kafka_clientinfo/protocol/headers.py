"""Which header travels with which API version, and which bodies are known: look-ups for everyone else."""

from kafka_clientinfo.protocol.field_specs import FieldSpec
from kafka_clientinfo.protocol.registry import Registry, released


def header_versions(api_key: int, api_version: int, *, registry: Registry | None = None) -> tuple[int, int]:
    """Versions of request header (0 to 3) and response header (0 or 1) of an API version.

    Versions newer than the schemas follow the open last range of `headerVersions` (KIP-1313).

    Raises:
        SchemaError: the API is unknown, or the version negative.
    """
    return (registry or released()).header_versions(api_key, api_version)


def request_header_version(api_key: int, api_version: int) -> int | None:
    """Version of the request header of an API version of released brokers; made for log parsing.

    Returns:
        0 to 3; None for an unknown API or a negative version.
    """
    return released().request_header_version(api_key, api_version)


def supports(api_key: int, api_version: int, *, registry: Registry | None = None) -> bool:
    """Whether request and response bodies of this API version have a schema."""
    return (registry or released()).supports(api_key, api_version)


def fields(
    api_key: int, api_version: int, kind: str, *, registry: Registry | None = None
) -> tuple[FieldSpec, ...] | None:
    """The fields of a body in wire order, tagged fields last.

    Before 2.4 brokers logged some fields under other names (`group_protocols` for `protocols`), but always in
    this order: match by place.

    Args:
        api_key: number of the API.
        api_version: its version.
        kind: `request` or `response`.
        registry: with drafts; the released messages by default.

    Returns:
        None where the body of this version has no schema.
    """
    registry = registry or released()
    schema = (registry.requests if kind == "request" else registry.responses).get(api_key)
    if schema is None or schema.fields is None or api_version not in schema.valid:
        return None
    return registry.codec(schema, api_version).spec.fields
