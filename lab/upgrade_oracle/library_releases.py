"""Measures which versions of each API releases of client libraries speak, and how they behave: real releases, real brokers.

    python -m lab.upgrade_oracle.library_releases play 4.4.0 127.0.0.1:17092 b/kafka-request.log >> played.jsonl
    python -m lab.upgrade_oracle.library_releases write played.jsonl

`play` has every release do its roles (clients/) against one broker, one release after the other, and takes from the broker's
request log what each of them has sent. Brokers of several releases show more: an old one the lowest versions that a release
speaks, a new one the highest. `write` folds what was seen into schemas/client_libraries.toml and client_signatures.toml.

If the environment variable KAFKA_SASL holds USER:PASSWORD, all programs authenticate with SASL/PLAIN over plaintext.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_clientinfo.logs import Parser, RequestEvent, range_records

from . import fleet, signatures
from .libraries import LIBRARIES, Library
from .real_broker import ready_made

HEAD = """# Which versions of each API releases of client libraries speak: the lowest and the highest that real releases were seen to
# use, each playing a producer, consumers, transactions and administration (as far as it has them) against real brokers of
# several releases; worked_with and failed_with say with which of them it could produce and consume.
# Written by lab/upgrade_oracle/library_releases.py; not edited by hand.
"""
LIMIT_SECONDS = 150
"""For all roles of a release; what has not been said by then counts as failed."""
SETTLES_SECONDS = 1.0
"""A broker logs a request when it is complete."""
INTER_BROKER = frozenset({4, 5, 6, 7, 27, 56, 58, 67})
_BROKERS = re.compile(r"\d+$|broker-|raft-client|AddPartitionsManager|harness-probe")
TARGET = Path(__file__).parents[2] / "schemas" / "client_libraries.toml"


GO_PROGRAMS = {"sarama": "sarama", "franz-go": "franz-go", "kafka-go": "kafka-go"}


def command(
    library: Library, release: str, address: str, prefix: str, topic: str, broker: str
) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a library's program in a release, which is there afterwards."""
    registry, _, package = library.package.partition(":")
    if registry == "maven":
        roles = [f"produce={prefix}-p", f"consume={prefix}-c"]
        roles += (
            ["Transaction=" + prefix + "-t", "TopicAdmin=" + prefix + "-a"] if fleet.numbers(release) >= (0, 11) else []
        )
        if fleet.numbers(release) >= (2,):
            roles[-1] = f"GroupAdmin={prefix}-a"
        return [*fleet.corpus_client(release), address, prefix, topic, *roles], {}
    if registry == "npm":
        modules = ready_made(f"kafkajs-{release}", fleet.npm(release)) / "node_modules"
        return ["node", str(fleet.CLIENTS / "node" / "client.js"), address, prefix, topic], {"NODE_PATH": str(modules)}
    if registry == "pypi":
        python = f"python{library.old_python.get(release, '3.11')}"
        wanted = f"{package}=={release}"
        pip = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--target",
            "{}",
            wanted,
            *(["setuptools<81"] if package == "confluent-kafka" else []),
            *(["kafka-python==2.0.2"] if package == "aiokafka" and fleet.numbers(release) < (0, 9) else []),
        ]
        script = fleet.CLIENTS / "python" / f"{fleet.PYTHON[package]}.py"
        return [python, str(script), address, prefix, topic], {"PYTHONPATH": str(ready_made(f"{python}-{wanted}", pip))}
    return [str(go_program(library, release) / "go_k"), GO_PROGRAMS[library.name], address, prefix, topic], {
        "KAFKA_VERSION": broker
    }


def go_program(library: Library, release: str) -> Path:
    """The program with one library in another release; sarama before 1.40 has another owner."""
    sources = fleet.CLIENTS / "go"
    module = library.package.partition(":")[2]
    owner = "github.com/Shopify/sarama" if library.name == "sarama" and fleet.numbers(release) < (1, 40) else module
    script = (
        f"rm -rf '{{}}'/source && mkdir -p '{{}}'/source && cp {sources}/* '{{}}'/source && cd '{{}}'/source && "
        f'sed -i \'s#"{module}"#"{owner}"#\' *.go && '
        f"go mod edit -droprequire {module} && go get {owner}@v{release} && go mod tidy -e && "
        # what else is required may have raised it
        f"test \"$(go list -m -f '{{{{.Version}}}}' {owner})\" = v{release} && go build -o '{{}}'/go_k ."
    )
    return ready_made(f"go-{library.name}-{release}-{fleet.digest(*sources.iterdir())}", ["sh", "-c", script])


def play(broker: str, address: str, log: Path, only: str) -> Iterator[dict[str, Any]]:
    """Play all releases against one broker; yields one line each."""
    for library in LIBRARIES:
        for release in library.releases:
            if only in f"{library.name} {release}":
                yield played(library, release, broker, address, log)


def played(library: Library, release: str, broker: str, address: str, log: Path) -> dict[str, Any]:
    """What a release did against a broker: what went wrong per role (null: nothing), and versions of requests that were answered."""
    prefix = re.sub(r"[^a-z0-9]+", "-", f"{library.package.rpartition(':')[2].rpartition('/')[2]}-{release}".lower())
    line: dict[str, Any] = {"library": library.name, "release": release, "broker": broker}
    try:
        words, environment = command(library, release, address, prefix, "t1", broker)
    except BaseException as error:
        return {**line, "not_installed": str(error)[-400:]}
    start = log.stat().st_size if log.exists() else 0
    roles = said(words, environment)
    time.sleep(SETTLES_SECONDS)
    return {
        **line,
        "roles": roles,
        "versions": versions(log, start),
        "behaviour": signatures.behaviour(log, start, broker),
    }


def said(words: list[str], environment: dict[str, str]) -> dict[str, str | None]:
    """Run a program; the outcome of each role as it was said until the limit."""
    roles: dict[str, str | None] = {}
    child = subprocess.Popen(
        words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = threading.Timer(LIMIT_SECONDS, child.kill)
    end.start()
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.extend(child.stderr or ()), daemon=True)
    reader.start()
    for text in child.stdout or ():
        if text.startswith('{"'):
            outcome = json.loads(text)
            name = outcome["role"]
            roles[name] = roles.get(name) or outcome["error"]
    child.wait()
    end.cancel()
    if not roles or child.returncode:
        roles["program"] = f"ended with {child.returncode}: {''.join(errors)[-300:]}"
    return roles


def versions(log: Path, start: int) -> dict[str, list[int]]:
    """Versions per API of the requests in a log from an offset on that no broker has sent."""
    parser, by_connection = Parser(), defaultdict(list)
    for record in range_records(log, start, None):
        event = parser.parse(record)
        if isinstance(event, RequestEvent):
            by_connection[event.connection_id].append(event)
    found: dict[str, set[int]] = defaultdict(set)
    for events in by_connection.values():
        if not any(is_brokers(event) for event in events):
            for event in events:
                found[event.api_name].add(event.api_version)
    return {name: sorted(seen) for name, seen in sorted(found.items())}


def is_brokers(event: RequestEvent) -> bool:
    return (
        event.api_key in INTER_BROKER or event.listener == "CONTROLLER" or bool(_BROKERS.match(event.client_id or ""))
    )


def declaration(lines: Iterable[Mapping[str, Any]]) -> str:
    """The text of schemas/client_libraries.toml, of all that was played."""
    by_release: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        if "roles" in line:
            by_release[line["library"], line["release"]].append(line)
    parts = [HEAD]
    for library in LIBRARIES:
        known = {
            "name": library.name,
            "package": library.package,
            "software": library.software,
            "client_ids": library.client_ids,
            "version_settings": library.version_settings,
            "pinned_by": library.pinned_by,
            "remedy": library.remedy,
        }
        played_ = [release for release in library.releases if (library.name, release) in by_release]
        if played_:
            parts.append(
                "[[libraries]]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in known.items() if value)
            )
        # One of which nothing is known was not measured: its program did not start here.
        own = {release: by_release[library.name, release] for release in played_}
        parts += [
            release_text(release, found) for release, found in own.items() if any(line["versions"] for line in found)
        ]
    return "\n".join(parts)


def release_text(release: str, found: list[Mapping[str, Any]]) -> str:
    brokers = sorted(
        {line["broker"]: works(line["roles"]) for line in found}.items(), key=lambda item: fleet.numbers(item[0])
    )
    seen: dict[str, set[int]] = defaultdict(set)
    for line in found:
        for api, versions_ in line["versions"].items():
            seen[api].update(versions_)
    speaks = "".join(f"{api} = [{min(numbers)}, {max(numbers)}]\n" for api, numbers in sorted(seen.items()))
    worked, failed = (json.dumps([name for name, works_ in brokers if works_ is wanted]) for wanted in (True, False))
    return (
        f'[[libraries.releases]]\nrelease = "{release}"\nworked_with = {worked}\nfailed_with = {failed}\n'
        f"\n[libraries.releases.speaks]\n{speaks}"
    )


def works(roles: Mapping[str, str | None]) -> bool:
    """Whether a release could produce and consume."""
    return all(name in roles and roles[name] is None for name in ("produce", "consume"))


def known(library: Library) -> list[str]:
    """All releases of a library that its registry has, the oldest first, besides those that only try something out."""
    registry, _, package = library.package.partition(":")
    if registry == "maven":
        return signatures.JAVA_RELEASES.split()
    if registry == "pypi":
        words = ["python3.11", "-m", "pip", "index", "versions", package]
    elif registry == "npm":
        words = ["npm", "view", package, "versions"]
    else:
        words = [
            "go",
            "list",
            "-m",
            "-versions",
            package,
            *(["github.com/Shopify/sarama"] if library.name == "sarama" else []),
        ]
    said = subprocess.run(words, check=True, capture_output=True, text=True, cwd=fleet.CLIENTS / "go").stdout
    found = set(re.findall(r"(?<![\w.-])v?(\d+(?:\.\d+){1,3})(?![\w.-])", said)) | set(library.releases)
    return sorted(found, key=fleet.numbers)


def quoted(text: str) -> str:
    return f"'{text}'" if "\\" in text else f'"{text}"'


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.upgrade_oracle.library_releases", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    play_ = steps.add_parser("play", help="play all releases against one broker; prints a line of JSON each")
    play_.add_argument("broker", help="the broker's release")
    play_.add_argument("address", help="HOST:PORT")
    play_.add_argument("log", type=Path, help="its request log")
    play_.add_argument("--only", default="", help="releases whose library and release have this in them")
    write = steps.add_parser("write", help="write schemas/client_libraries.toml")
    write.add_argument("played", type=Path, nargs="+", help="what `play` has printed")
    given = parser.parse_args(arguments)
    if given.step == "write":
        lines = [json.loads(line) for path in given.played for line in path.read_text("utf-8").splitlines()]
        TARGET.write_text(declaration(lines), "utf-8")
        signatures.write(lines, {library.name: known(library) for library in LIBRARIES})
        return
    for line in play(given.broker, given.address, given.log, given.only):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
