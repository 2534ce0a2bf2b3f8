"""How releases of client libraries behave on their connections, for schemas/client_signatures.toml.

What a connection shows is taken from a broker's request log by the package's own expressions, so that the data and what
is compared with them cannot differ.
"""

import json
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F, running_on
from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.releases.broker_releases import releases
from kafka_clientinfo.releases.client_signatures import GENERATIONS
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.scan.memory import DUCKDB
from tests.scanned import scanned

from . import fleet

TARGET = Path(__file__).parents[2] / "schemas" / "client_signatures.toml"
HEAD = """# How releases of client libraries behave on a connection: what real releases did in their roles with real brokers of several
# releases. `begins` has for each generation of logs how connections begin and what is asked first, and `seconds` what
# follows, as in concerns.client_behaviour; `sent` are the versions of an API that a release sent, and `chosen`
# those of them that it sent although the broker offered higher ones. `known` are all releases of the library.
# Written by lab/upgrade_oracle/library_releases.py; not edited by hand.
"""
SOFTWARE = {
    "Apache Kafka's Java client": "apache-kafka-java",
    "confluent-kafka for Python (librdkafka)": "librdkafka",
    "franz-go": "kgo",
}
"""The libraries' names in KIP-511's vocabulary, where they differ; confluent-kafka has the releases of its librdkafka."""
PATCHES_ALIKE = frozenset({"apache-kafka-java"})
"""Libraries in which releases that differ in the last number only behave alike: Kafka changes protocols in minor releases."""
JAVA_RELEASES = (
    "0.8.2.0 0.8.2.1 0.8.2.2 0.9.0.0 0.9.0.1 0.10.0.0 0.10.0.1 0.10.1.0 0.10.1.1 0.10.2.0 0.10.2.1 0.10.2.2 0.11.0.0 "
    "0.11.0.1 0.11.0.2 0.11.0.3 1.0.0 1.0.1 1.0.2 1.1.0 1.1.1 2.0.0 2.0.1 2.1.0 2.1.1 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 "
    "2.4.1 2.5.0 2.5.1 2.6.0 2.6.1 2.6.2 2.6.3 2.7.0 2.7.1 2.7.2 2.8.0 2.8.1 2.8.2 3.0.0 3.0.1 3.0.2 3.1.0 3.1.1 3.1.2 "
    "3.2.0 3.2.1 3.2.2 3.2.3 3.3.0 3.3.1 3.3.2 3.4.0 3.4.1 3.5.0 3.5.1 3.5.2 3.6.0 3.6.1 3.6.2 3.7.0 3.7.1 3.7.2 3.8.0 "
    "3.8.1 3.9.0 3.9.1 4.0.0 4.0.1 4.1.0 4.1.1 4.2.0 4.2.1 4.3.0 4.3.1 4.4.0"
)
"""Those of kafka-clients, as the registry has no command that lists them."""


def behaviour(log: Path, start: int, broker: str, end: int | None = None) -> dict[str, Any]:
    """What the clients in a part of a broker's log did: how they began and went on, and versions sent and chosen by API."""
    with tempfile.TemporaryDirectory() as folder, log.open("rb") as source:
        part = Path(folder) / "b" / "kafka-request.log"
        part.parent.mkdir()
        source.seek(start)
        part.write_bytes(source.read() if end is None else source.read(end - start))
        tables = scanned([part], Settings(server_logs=False), "connections")
    with running_on(DUCKDB):
        clients = SparkSession(tables._database).table("connections").where(F.col("role") == "client")
        begun = clients.where(F.col("handshake").isNotNull()).select(
            F.col("first.log_generation").alias("generation"), "handshake", "first_work", "second_work"
        )
        rows = tables._database.sql(begun.sql()).fetchall()
    begins: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    seconds: dict[str, set[str]] = defaultdict(set)
    for generation, handshake, first, second in rows:
        begins[generation][handshake] |= {first} if first else set()
        seconds[generation] |= {f"{handshake} {first} {second}"} if first and second else set()
    offered = releases()[broker].apis
    sent: dict[str, set[int]] = defaultdict(set)
    chosen: dict[str, set[int]] = defaultdict(set)
    versions = tables.query(
        "SELECT DISTINCT api_name, api_version FROM {requests} SEMI JOIN (FROM {connections} WHERE role = 'client') "
        "USING (connection_id) WHERE NOT is_forwarded AND api_name <> 'API_VERSIONS'"
    ).rows
    for api, version in versions:
        sent[api].add(version)
        key = api_key(api)
        highest = None if key is None else offered.get(key)
        if highest is not None and version < highest.high:
            chosen[api].add(version)
    return {
        "begins": {of: {how: sorted(firsts) for how, firsts in own.items()} for of, own in begins.items()},
        "seconds": {of: sorted(own) for of, own in seconds.items()},
        "sent": {api: sorted(own) for api, own in sorted(sent.items())},
        "chosen": {api: sorted(own) for api, own in sorted(chosen.items())},
    }


def write(lines: Iterable[Mapping[str, Any]], known: Mapping[str, Sequence[str]]) -> None:
    TARGET.write_text(declaration(lines, known), "utf-8")


def declaration(lines: Iterable[Mapping[str, Any]], known: Mapping[str, Sequence[str]]) -> str:
    """The text of schemas/client_signatures.toml, of all that was played."""
    played: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line.get("behaviour", {}).get("sent"):
            played[line["library"]][line["release"]].append(line["behaviour"])
    parts = [HEAD]
    for library in (name for name in known if name in played):
        software = SOFTWARE.get(library, library)
        parts.append(_library_text(software, known[library], [one for own in played[library].values() for one in own]))
        parts += [_release_text(name, played[library][name]) for name in sorted(played[library], key=fleet.numbers)]
    return "\n".join(parts)


def _library_text(software: str, known: Sequence[str], found: Sequence[Mapping[str, Any]]) -> str:
    alike = "patches_alike = true\n" if software in PATCHES_ALIKE else ""
    seconds = "".join(
        f"{generation} = {_lines({text for one in found for text in one['seconds'].get(generation, ())})}\n"
        for generation in GENERATIONS
    )
    return f'[[libraries]]\nsoftware = "{software}"\n{alike}known = {_lines(known, fleet.numbers)}\n\n[libraries.seconds]\n{seconds}'


def _release_text(release: str, found: Sequence[Mapping[str, Any]]) -> str:
    begins = ""
    for generation in GENERATIONS:
        firsts: dict[str, set[str]] = defaultdict(set)
        for one in found:
            for how, own in one["begins"].get(generation, {}).items():
                firsts[how].update(own)
        if firsts:
            begins += f"\n[libraries.releases.begins.{generation}]\n"
            begins += "".join(f'"{how}" = {_lines(own)}\n' for how, own in sorted(firsts.items()))

    def versions(kind: str, api: str) -> list[int]:
        return sorted({version for one in found for version in one[kind].get(api, ())})

    by_api = "".join(
        f"{api} = {{ sent = {versions('sent', api)}, chosen = {versions('chosen', api)} }}\n"
        for api in sorted({api for one in found for api in one["sent"]})
    )
    return f'[[libraries.releases]]\nrelease = "{release}"\n{begins}\n[libraries.releases.versions]\n{by_api}'


def _lines(texts: Iterable[str], order: Callable[[str], Any] = str) -> str:
    """A list of texts, in lines that can be read."""
    quoted = [json.dumps(text) for text in sorted(texts, key=order)]
    if sum(len(text) + 2 for text in quoted) < 100:
        return f"[{', '.join(quoted)}]"
    lines = textwrap.wrap(", ".join(text.replace(" ", "\0") for text in quoted), 118)
    return "[\n  " + "\n  ".join(lines).replace("\0", " ") + "\n]"
