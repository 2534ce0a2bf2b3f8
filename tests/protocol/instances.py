"""Message bodies to test with: from a seeded generator where volume counts, from Hypothesis where laws are tested."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from kafka_clientinfo.protocol.codec import Codec, compile_codec
from kafka_clientinfo.protocol.field_specs import FieldSpec, StructSpec
from kafka_clientinfo.protocol.registry import Registry
from kafka_clientinfo.protocol.schema import MessageSchema, parse_schema

LIMITS = {
    "int8": (-(2**7), 2**7 - 1), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1), "uint16": (0, 2**16 - 1), "uint32": (0, 2**32 - 1),
}  # fmt: skip
TEXTS = ("", "a", "consumer-1", "grün", "\U0001f600\0\n", "x" * 127, "y" * 300)


def codec_of(*fields: dict[str, Any], flexible: str = "none", valid: str = "0", version: int = 0) -> Codec:
    """The codec of a message M with these fields, which are of all versions unless they say otherwise."""
    document = {"type": "data", "name": "M", "validVersions": valid, "flexibleVersions": flexible}
    document |= {"fields": [{"versions": "0+"} | field for field in fields]}
    return compile_codec(parse_schema(json.dumps(document), "M.json"), version)


def codecs(registry: Registry) -> Iterator[tuple[MessageSchema, int, Codec]]:
    """Every message and version whose body is known."""
    for schema in (*registry.requests.values(), *registry.responses.values(), *registry.others.values()):
        if schema.fields is not None:
            for version in range(schema.valid.first, schema.latest + 1):
                yield schema, version, registry.codec(schema, version)


def random_body(spec: StructSpec, rng: random.Random) -> dict[str, Any]:
    """A body with every field; about a third of the values are defaults, nulls or limits."""
    return {field.name: _random_value(field, rng) for field in spec.fields}


def _random_value(field: FieldSpec, rng: random.Random) -> Any:
    if field.tag is not None and rng.random() < 0.5:
        return field.default
    if field.nullable and rng.random() < 0.3:
        return None
    if field.is_array:
        return [_random_element(field, rng) for _ in range(rng.choice((0, 1, 2, 3)))]
    return _random_element(field, rng)


def _random_element(field: FieldSpec, rng: random.Random) -> Any:
    kind = field.element
    if field.struct is not None:
        return random_body(field.struct, rng)
    if kind in LIMITS:
        low, high = LIMITS[kind]
        return rng.choice((0, 1, low, high, rng.randint(low, high)))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(TEXTS)
    if kind == "uuid":
        return base64.urlsafe_b64encode(rng.randbytes(16))[:22].decode()
    if kind == "float64":
        return rng.uniform(-1e9, 1e9)
    return rng.randbytes(rng.choice((0, 1, 5, 200)))


def bodies(spec: StructSpec) -> st.SearchStrategy[dict[str, Any]]:
    """Hypothesis' bodies of a layout."""
    return st.integers(0, 2**32).map(lambda seed: random_body(spec, random.Random(seed)))
