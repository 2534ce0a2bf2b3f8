"""Byte for byte against Kafka's own generated classes, in both directions, and their header versions and JSON.

Needs Maven, a JDK 17 and the network. Kafka 4.4.0 has the newest versions, 3.9.1 those that 4.0 removed.
"""

import base64
import json
import random
import re
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.protocol import api_name, header_versions, released
from kafka_clientinfo.protocol.api_keys import errors
from kafka_clientinfo.protocol.codec import Codec
from kafka_clientinfo.protocol.field_specs import UNKNOWN_TAGS
from tests.bytes_fields import bytes_fields
from tests.protocol.json_form import struct_to_json

from ..instances import codecs, random_body

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent
INSTANCES = 40
RELEASES = ("4.4.0", "3.9.1")
# KIP-1313 in no released broker yet; Connect's payloads are no messages of kafka-clients.
ONLY_OURS = {(47, 1), (71, 1), (72, 1)}
UNKNOWN_CLASSES = {"ConnectWorkerMetadata", "ConnectWorkerAssignment"}


@cache
def oracle(kafka: str) -> list[str]:
    """Command line of the Java program with the classes of a release."""
    jars = Path.home() / ".cache" / "kafka-clientinfo-oracle" / kafka
    program, compiled = HERE / "Oracle.java", jars / "Oracle.class"
    if not compiled.exists() or compiled.stat().st_mtime < program.stat().st_mtime:
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-Dkafka.version={kafka}"]
        subprocess.run([*copy, f"-DoutputDirectory={jars}"], cwd=HERE, check=True)
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", jars, program], check=True)
    return ["java", "-cp", f"{jars}:{jars}/*", "Oracle"]


def bytes_of_schemas(kafka: str) -> Iterator[tuple[str | None, str, str]]:
    """Every bytes field in the schemas of a release: API, message and path."""
    jars = Path(oracle(kafka)[2].split(":")[0])
    with zipfile.ZipFile(jars / f"kafka-clients-{kafka}.jar") as jar:
        for name in jar.namelist():
            if re.fullmatch(r"common/message/\w+(?:Request|Response)\.json", name):
                text = re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*', lambda found: found[1] or "", jar.read(name).decode())
                message, _ = json.JSONDecoder().raw_decode(text.strip())  # one file has words after its end
                common = {struct["name"]: struct["fields"] for struct in message.get("commonStructs", ())}
                for path in _bytes_in(message.get("fields", []), common):
                    yield api_name(message["apiKey"]), message["type"], path


def _bytes_in(fields: list[dict[str, Any]], common: dict[str, list[dict[str, Any]]], path: str = "") -> Iterator[str]:
    for field in fields:
        here = path + field["name"][0].lower() + field["name"][1:]
        kind = field["type"].removeprefix("[]")
        if kind in ("bytes", "records"):
            yield here
        yield from _bytes_in(field.get("fields", common.get(kind, [])), common, f"{here}.")


@pytest.mark.kip("KIP-559", 1, 2)
@pytest.mark.parametrize("kafka", RELEASES)
def test_every_bytes_field_of_kafkas_schemas_is_listed(kafka: str) -> None:
    listed = {(field.api, field.message, field.field) for field in bytes_fields()}
    found = set(bytes_of_schemas(kafka))
    assert len(found) > 20
    assert found <= listed


def ask(kafka: str, lines: list[str]) -> list[list[str]]:
    """The answers of Kafka's classes, cut at tabs."""
    done = subprocess.run(oracle(kafka), input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [answer.split("\t") for answer in done.stdout.splitlines()]


def test_every_error_code_has_kafkas_name() -> None:
    codes = [*range(-1, 200)]
    answers = ask("4.4.0", [f"error\t{code}" for code in codes])
    # Kafka gives codes that it does not know the name of -1.
    named = zip(codes, answers, strict=True)
    known = [(code, name, flag) for code, (name, flag) in named if code == -1 or name != "UNKNOWN_SERVER_ERROR"]
    expected = {code: (name, retriable == "true") for code, name, retriable in known}
    assert {error.code: (error.name, error.retriable) for error in errors().values()} == expected


def instances() -> Iterator[tuple[str, int, Codec, dict[str, Any]]]:
    """Generated bodies of every message and version, some with tagged fields that nobody knows."""
    for schema, version, codec in codecs(released()):
        if schema.name in UNKNOWN_CLASSES or (schema.api_key, version) in ONLY_OURS:
            continue
        rng = random.Random(f"{schema.name}{version}")
        for number in range(INSTANCES):
            body = random_body(codec.spec, rng)
            if codec.spec.flexible and number % 4 == 0:
                body[UNKNOWN_TAGS] = {101: b"", 70000: rng.randbytes(200)}
            yield schema.name if schema.kind == "data" else f"{schema.name}Data", version, codec, body


def described(name: str, version: int, codec: Codec, body: dict[str, Any]) -> str:
    """The line that shows an instance to the Java program."""
    document = json.dumps(struct_to_json(codec.spec, body))
    return f"message\t{name}\t{version}\t{base64.b64encode(codec.encode(body)).decode()}\t{document}"


def it_writes_and_reads_what_kafka_does() -> None:
    cases = list(instances())
    lines = [described(*case) for case in cases]
    left = {(name, version) for name, version, _, _ in cases}
    compared = 0
    for kafka in RELEASES:
        for case, answer in zip(cases, ask(kafka, lines), strict=True):
            if answer != ["unknown"]:
                compare(*case, answer)
                left.discard(case[:2])
                compared += 1
    print(f"{compared} instances equal")
    assert left == {("RequestHeaderData", 3)}  # KIP-1313


def compare(name: str, version: int, codec: Codec, body: dict[str, Any], answer: list[str]) -> None:
    """Kafka reads our bytes as we wrote them, logs them as we do, and writes our JSON as our bytes."""
    assert answer[0] != "refused", (name, version, answer)
    rewritten, document, from_json = answer
    assert base64.b64decode(rewritten) == codec.encode(body), (name, version)
    assert codec.decode_all(base64.b64decode(rewritten)) == body, (name, version)
    assert json.loads(document) == struct_to_json(codec.spec, body), (name, version)
    plain = {key: value for key, value in body.items() if key != UNKNOWN_TAGS}
    assert base64.b64decode(from_json) == codec.encode(plain), (name, version)


@pytest.mark.parametrize("kafka", RELEASES)
def it_knows_the_headers_that_kafka_uses(kafka: str) -> None:
    registry = released()
    every = [(key, version) for key, schema in registry.requests.items() for version in range(schema.latest + 1)]
    versions = [one for one in every if one not in ONLY_OURS]
    answers = ask(kafka, [f"header\t{key}\t{version}" for key, version in versions])
    known = [(case, answer) for case, answer in zip(versions, answers, strict=True) if answer != ["unknown"]]
    assert len(known) > 300
    for (key, version), (request, response) in known:
        assert header_versions(key, version) == (int(request), int(response)), (key, version)
