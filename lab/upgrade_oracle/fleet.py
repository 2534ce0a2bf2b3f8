"""The real clients of the 2.8.2 log among the samples: the same libraries, versions, roles and client ids.

One small program per library (clients/) plays its roles one after the other and says of each what went wrong. Libraries
come from the package registries into a cache, once; what cannot be had skips the test.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import raw_clients
from .raw_clients import UNKNOWN, Client
from .real_broker import HERE, ready_made

TOPIC = "t1"
CLIENTS = HERE / "clients"
LIMIT = 400  # five roles of which each gives up after a minute at the latest, and the start


@dataclass(frozen=True)
class Program:
    """A client program: one library in one version.

    Attributes:
        software: name and version that the library tells brokers (KIP-511), as far as it does.
        roles: for Java, what to play: NAME=CLIENT_ID, or NAME:CLIENT_ID where the library picks the id.
    """

    label: str
    library: str
    version: str
    prefix: str
    software: tuple[str, str] = UNKNOWN
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """What a client of a program asked for."""

    program: str
    client: Client
    name: str


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def java(version: str, prefix: str, consumer: str, *more: str) -> Program:
    """The roles that all releases have, and more."""
    software = ("apache-kafka-java", version) if numbers(version) >= (2, 4) else UNKNOWN
    roles = ("produce:producer-1", f"consume:{consumer}", f"consume={prefix}-c1", *more)
    return Program(f"java-{version}", "kafka-clients", version, prefix, software, roles)


def librdkafka(version: str, core: str, prefix: str) -> Program:
    software = ("confluent-kafka-python", f"{version}-rdkafka-{core}")
    return Program(f"librdkafka-{core}", "confluent-kafka", version, prefix, software)


SETUP = Program("setup", "kafka-clients", "2.8.2", "setup", ("apache-kafka-java", "2.8.2"), ("Setup=setup",))
FILLER = java("2.8.2", "j282", "consumer-g-j282-1", "Transaction=j282-txp", "GroupAdmin:adminclient-1")
OTHERS = (
    java("0.10.2.2", "j01022", "consumer-1"),
    java("1.1.1", "j111", "consumer-1", "TopicAdmin:adminclient-1"),
    java("2.3.1", "j231", "consumer-1", "GroupAdmin:adminclient-1"),
    java("3.3.2", "j332", "consumer-g-j332-1", "GroupAdmin:adminclient-1"),
    librdkafka("2.16.1", "2.16.0", "ckn"),
    librdkafka("2.6.0", "2.6.0", "ckm"),
    librdkafka("2.0.2", "2.0.2", "cko"),
    Program("kafka-python-new", "kafka-python", "3.0.12", "kpn", ("kafka-python", "3.0.12")),
    Program("kafka-python-old", "kafka-python", "2.0.2", "kpo"),
    Program("aiokafka", "aiokafka", "0.14.0", "aio"),
    Program("kafkajs", "kafkajs", "2.2.4", "kjs"),
    Program("sarama", "sarama", "1.61.1", "gs", ("sarama", "v1.61.1")),
    Program("sarama-old", "sarama", "1.61.1", "gso", ("sarama", "v1.61.1")),
    Program("franz-go", "franz-go", "1.22.2", "gf", ("kgo", "v1.22.2")),
    Program("kafka-go", "kafka-go", "0.4.51", "gk"),
)
PROGRAMS = (SETUP, FILLER, *OTHERS)
PYTHON = {"confluent-kafka": "librdkafka_client", "kafka-python": "kafka_python_client", "aiokafka": "aiokafka_client"}


def install() -> None:
    """Put everything that the programs need into the cache, so that nothing is fetched beside a running broker."""
    for program in PROGRAMS:
        command(program, "")


def played(address: str) -> dict[Operation, str | None]:
    """Play all clients against a broker: what went wrong per operation, None where nothing did."""
    outcomes: dict[Operation, str | None] = {}
    for program in (SETUP, FILLER):  # the topic, and messages in it
        outcomes.update(outcome(program, address))
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda program: list(outcome(program, address)), OTHERS):
            outcomes.update(done)
    for client, name, error in raw_clients.played(address):
        outcomes[Operation("hand-made", client, name)] = error
    return outcomes


def outcome(program: Program, address: str) -> Iterator[tuple[Operation, str | None]]:
    words, environment = command(program, address)
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    assert said, f"{program.label} said nothing: {done.stdout[-500:]} {done.stderr[-2000:]}"
    for line in said:
        client = (line["client_id"], *program.software)
        yield Operation(program.label, client, line["role"]), line["error"]


def corpus_client(release: str) -> list[str]:
    """The beginning of the command line of the Java program, with this release of Kafka's client."""
    classpath = f"{java_classes(release)}:{java_jars(release)}/*"
    return ["java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", classpath, "CorpusClient"]


def command(program: Program, address: str) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a program, whose library is there afterwards."""
    arguments = [address, program.prefix, TOPIC]
    if program.library == "kafka-clients":
        return [*corpus_client(program.version), *arguments, *program.roles], {}
    if program.library == "kafkajs":
        modules = ready_made(f"kafkajs-{program.version}", npm(program.version)) / "node_modules"
        return ["node", str(CLIENTS / "node" / "client.js"), *arguments], {"NODE_PATH": str(modules)}
    if program.library in PYTHON:
        wanted = f"{program.library}=={program.version}"
        pip = ["python3.11", "-m", "pip", "install", "-q", "--target", "{}", wanted]
        script = CLIENTS / "python" / f"{PYTHON[program.library]}.py"
        return ["python3.11", str(script), *arguments], {"PYTHONPATH": str(ready_made(f"python-{wanted}", pip))}
    sources = CLIENTS / "go"
    ready_made(f"go-modules-{digest(sources / 'go.sum')}", ["go", "mod", "download"], sources)
    build = ["go", "build", "-o", "{}/go_k", "."]
    built = ready_made(f"go-{digest(*sources.iterdir())}", build, sources, fetches=False)
    return [str(built / "go_k"), program.label, *arguments], {}  # kafka-go's client id begins with the program's name


def npm(version: str) -> list[str]:
    return ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", "{}", f"kafkajs@{version}"]


def java_jars(version: str) -> Path:
    copy = ["mvn", "-q", "-B", "-f", CLIENTS / "java" / "pom.xml", "dependency:copy-dependencies"]
    return ready_made(f"java-{version}", [*copy, f"-Dkafka.version={version}", "-DoutputDirectory={}"])


def java_classes(version: str) -> Path:
    """The program compiled against a release, as far as that has what the classes use."""
    release = numbers(version)
    names = ["CorpusClient"]
    names += ["Transaction", "TopicAdmin", "Setup"] if release >= (0, 11) else []
    names += ["GroupAdmin", "Compacted"] if release >= (2,) else []
    names += ["Shares"] if release >= (4, 2) else []
    sources = [CLIENTS / "java" / f"{name}.java" for name in names]
    compile_ = ["javac", "-nowarn", "-cp", f"{java_jars(version)}/*", "-d", "{}", *sources]
    return ready_made(f"java-classes-{version}-{digest(*sources)}", compile_, fetches=False)


def digest(*sources: Path) -> str:
    """Changes with the sources, so that a cache of old ones is not taken."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()[:10]
