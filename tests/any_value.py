"""Logs in which every field of real records holds what is odd there, one field at a time or two.

The records are those of sample_logs, one for each API and version, shortened. A case is one such record with its odd
value, and the records around it that make the value count: a SyncGroup has the JoinGroup before it. Every case has a
connection, a client id, groups and members of its own, so that no other record hides what becomes of it. Only odd values in
bodies that no table keeps share connections, as all that their records can change is how they are parsed.

A broker writes some of these values only if a client sent them, some never: a log may be damaged or forged, and is read
all the same.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from datetime import timedelta
from functools import cache, lru_cache
from itertools import chain, count, islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from kafka_clientinfo.logs.apis import CONTROL_APIS, INTER_BROKER_APIS, REPLICA_APIS
from kafka_clientinfo.protocol import api_key

from .builders import json_record
from .frames import START
from .odd_bodies import BEYOND_LIMITS, NO_JSON, WITHIN_LIMITS, with_members

SAMPLES = Path(__file__).resolve().parent.parent / "sample_logs"
MISSING = object()
"""Stands for a field that is not there."""
Path_ = tuple[str | int, ...]
Document = dict[str, Any]
_RAW = re.compile(r'"@raw@([^"]*)@"')
_JSON = re.compile(rb"Completed request:(\{\".*\}) \(kafka\.request\.logger\)")
_LONGEST_LIST = 2
_KEPT_RANGES = (3, 18)
"""The APIs that an answer to ApiVersions keeps."""
_BODIES = ("request", "response")
_SHARING = 50
"""Cases that share a connection."""
_OF_CLIENTS, _OF_BROKERS = 1 << 17, 1 << 18
"""Where the numbers of shared connections begin."""


class Case(NamedTuple):
    """A record with an odd value, and the records around it."""

    what: str
    """The field and its value."""
    records: Sequence[bytes]


def raw(text: str) -> str:
    """Stand for JSON that Python would write otherwise; it holds no quote."""
    return f"@raw@{text}@"


_ANY = (MISSING, None, "", [], {}, [None], [[]], {"x": [None, {}]}, True, 0, -1, 2**31, 2**63, 10**30, 1.5, "x")
_TEXTS = ("null", "7", " ", "a" * 300, "\0", "\u2028\U0001f600", "[]", '{"a":1}', 'é\n"\\', raw("1e2"))
_NUMBERS = (1, 2, 127, 32767, -(2**31), 2**31 - 1, 2**63 - 1, 2**64, -(2**63) - 1, "7", "-1", "1e2", raw("1e400"), raw("-0"), raw("3.0"))  # fmt: skip
_NAMES_OF_BYTES = ("metadata", "assignment", "memberMetadata", "memberAssignment")
_BYTES = ("AA==", "AAE=", "AAAAAAAA", "f/8AAAAA", "////", "AAA", "!", "=", "AAA=AAA=")
_DEEP: Any = 0
for _ in range(40):
    _DEEP = [_DEEP]
_NESTED = (_DEEP, {"errorCode": 1}, {"groupId": None})


def odd_values(value: Any) -> Iterator[Any]:
    """Give what is odd in the place of a value."""
    yield from _ANY
    if isinstance(value, str):
        yield from (*_TEXTS, *(_BYTES if value.endswith("=") or len(value) > 20 else ()))
    elif isinstance(value, int | float):
        yield from _NUMBERS
    elif isinstance(value, list):
        yield from ([None, *value], [*value, *value], [*value, 0], [[*value]], [*value, {}], value[:1] * 1001)
    elif isinstance(value, dict):
        yield from (dict.fromkeys(value), value | {"unknownField": {}}, [value])
    yield from _NESTED


def paths(value: Any, start: Path_ = ()) -> Iterator[Path_]:
    """Give the places of a document, of each list the first element."""
    if start:
        yield start
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, one in items:
        yield from paths(one, (*start, name))


def value_at(document: Any, path: Path_) -> Any:
    for name in path:
        document = document[name]
    return document


def changed(document: Document, path: Path_, value: Any) -> Document:
    """Copy a document with another value at a place; without the place, if an earlier change took it away."""
    made = deepcopy(document)
    try:
        parent = value_at(made, path[:-1])
        if value is MISSING:
            del parent[path[-1]]
        elif isinstance(parent, dict | list):
            parent[path[-1]] = deepcopy(value)
    except (LookupError, TypeError):
        pass
    return made


def sample_lines(pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    for path in sorted(SAMPLES.glob("*/kafka-request.log*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        yield from filter(None, map(pattern.search, data.splitlines()))


@lru_cache(maxsize=1)
def templates() -> dict[tuple[str, int], Document]:
    """Take of each API and version of the sample logs the record with the most fields, short lists."""
    best: dict[tuple[str, int], tuple[int, Document]] = {}
    for found in sample_lines(_JSON):
        document = json.loads(found[1])
        header = document["requestHeader"]
        document = _shortened(document)
        fields = sum(1 for _ in paths(document))
        key = (header["requestApiKeyName"], header["requestApiVersion"])
        if key not in best or fields > best[key][0]:
            best[key] = (fields, document)
    streams = json.loads(_JSON.search(_streams_heartbeat())[1])  # type: ignore[index]
    found_templates = {key: document for key, (_, document) in sorted(best.items())}
    return found_templates | {("STREAMS_GROUP_HEARTBEAT", 0): streams}


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(one) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    of_apis = [one for one in value if isinstance(one, dict) and "minVersion" in one]
    ranges = [one for one in of_apis if one.get("apiKey") in _KEPT_RANGES]
    return [_shortened(one) for one in ranges or value[:_LONGEST_LIST]]


def _streams_heartbeat() -> bytes:
    """Make the one message of a group that no sample holds."""
    sent = {"groupId": "g", "memberId": "m", "memberEpoch": 0, "rackId": "r", "processId": "p"}
    sent |= {"topology": {"epoch": 1, "subtopologies": [{"subtopologyId": "0", "sourceTopics": ["t", "u"]}]}}
    answer = {"throttleTimeMs": 0, "errorCode": 0, "memberId": "m", "memberEpoch": 1}
    return json_record(api="STREAMS_GROUP_HEARTBEAT", version=0, request=sent, response=answer)


def owned(value: Any, number: int) -> Any:
    """Give groups, members and generations of a document the names of one case."""
    if isinstance(value, list):
        return [owned(one, number) for one in value]
    if not isinstance(value, dict):
        return value
    own = {"groupId": f"g{number}", "memberId": f"m{number}", "leader": f"m{number}", "generationId": 1}
    if isinstance(value.get("groups"), list) and isinstance(value["groups"][0], str):
        own["groups"] = [f"g{number}"]
    return {name: own[name] if name in own and one is not None else owned(one, number) for name, one in value.items()}


def _of_connection(document: Document, number: int, correlation_id: int) -> Document:
    made: Document = owned(document, number)
    header = made["requestHeader"]
    header["correlationId"] = correlation_id
    if header["requestApiKey"] not in INTER_BROKER_APIS and "clientId" in header:
        header["clientId"] = f"client{number}"
    host = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    made["connection"] = f"10.255.0.1:9092-{host}:{40000 + number % 20000}-0-{number}"
    return made


def written(document: Document, seconds: float, prefix: str | None = None) -> bytes:
    """Write a document as a record."""
    moment = START + timedelta(seconds=seconds)
    begin = prefix or f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}] DEBUG "
    return f"{begin}Completed request:{written_json(document)} (kafka.request.logger)\n".encode()


def written_json(document: Document) -> str:
    return _RAW.sub(r"\1", json.dumps(document, separators=(",", ":"), ensure_ascii=False))


class Change(NamedTuple):
    """What a case changes in the template of an API and version."""

    api: str
    version: int
    values: tuple[tuple[Path_, Any], ...]


def case_of(change: Change, number: int) -> Case:
    """Make a case: the changed record among those that make its value count."""
    known = templates()
    before = {"SYNC_GROUP": [("JOIN_GROUP", 9 if change.version > 4 else 3)]}
    after = {"JOIN_GROUP": [("SYNC_GROUP", 5 if change.version > 6 else 3)], "API_VERSIONS": [("METADATA", 12)]}
    order = [*before.get(change.api, ()), (change.api, change.version), *after.get(change.api, ())]
    records = []
    connection, first_id = _connection(change, number)
    for at, key in enumerate(order):
        document = _of_connection(known[key], connection, first_id + at)
        if key == (change.api, change.version):
            for path, value in change.values:
                document = changed(document, path, value)
        records.append(written(document, number * 0.01 + at * 0.001))
    what = ", ".join(f"{'.'.join(map(str, path))} = {_shown(value)}" for path, value in change.values)
    return Case(f"{change.api} v{change.version}: {what}", records)


def _connection(change: Change, number: int) -> tuple[int, int]:
    """Return the number of a case's connection, and its first correlation id."""
    key = api_key(change.api)
    if key in CONTROL_APIS | REPLICA_APIS or any(path[0] not in _BODIES for path, _ in change.values):
        return number, 0
    kind = _OF_BROKERS if key in INTER_BROKER_APIS else _OF_CLIENTS
    return kind + number // _SHARING, number % _SHARING


def _shown(value: Any) -> str:
    return "missing" if value is MISSING else f"{value!r:.60}"


def single_changes(how_many: Callable[[str, int, Path_], int]) -> Iterator[Change]:
    """Change every field of every API and version, one at a time, to `how_many` odd values, others of each field."""
    numbers = count()
    for (api, version), document in templates().items():
        for path in paths(document):
            values = [*odd_values(value_at(document, path))]
            number = min(how_many(api, version, path), len(values))
            start = next(numbers)
            for at in range(number):
                yield Change(api, version, ((path, values[(start + at * len(values) // number) % len(values)]),))


def body_cases(numbers: Iterator[int]) -> Iterator[Case]:
    """Put into every body that is kept what a damaged log may hold there, each time another third of it."""
    apis = sorted({name for name, _ in templates() if api_key(name) in CONTROL_APIS})
    odd = NO_JSON | BEYOND_LIMITS | WITHIN_LIMITS
    for place, (api, name) in enumerate(product(apis, _BODIES)):
        for what in islice(odd, place % 3, None, 3):
            number = next(numbers)
            members = written_json(owned(templates()[api, newest(api)][name] or {"x": 0}, number))[1:-1]
            case = case_of(Change(api, newest(api), (((name,), "@body@"),)), number)
            body = with_members(odd[what], members).encode()
            yield Case(f"{api} {name}: {what}", [record.replace(b'"@body@"', body) for record in case.records])


@cache
def newest(api: str) -> int:
    """The newest version of an API in the samples, ApiVersions that nobody knows left out."""
    return max(version for name, version in templates() if name == api and version != 99)


def few(api: str, version: int, path: Path_) -> int:
    """Take every odd value of bytes, many of bodies that are kept, of the newest version, and one of every sixth elsewhere.

    The header and the times are the same for all versions of an API: they are changed in the newest one only.
    """
    if path[0] not in _BODIES:
        return int(version == newest(api))
    if api_key(api) not in CONTROL_APIS or version != newest(api):
        return int(crc32(repr((api, version, path)).encode()) % 6 == 0)
    return 99 if path[-1] in _NAMES_OF_BYTES else 9


def many(api: str, version: int, path: Path_) -> int:
    """Take every odd value of bodies that are kept and of headers, and a third elsewhere."""
    is_judged = path[0] not in _BODIES or api_key(api) in CONTROL_APIS
    return 99 if is_judged else 12


def pairs(dice: Random, number: int) -> Iterator[Change]:
    """Change two fields at once, chosen by dice among the APIs with bodies that are kept; three times of four in the bodies."""
    chosen = [(key, [*paths(document)]) for key, document in templates().items() if api_key(key[0]) in CONTROL_APIS]
    for _ in range(number):
        (api, version), places = dice.choice(chosen)
        of_bodies = [place for place in places if place[0] in _BODIES]
        two = dice.sample(of_bodies if dice.random() < 0.75 else places, 2)
        document = templates()[api, version]
        yield Change(api, version, tuple((at, dice.choice([*odd_values(value_at(document, at))])) for at in two))


PREFIXES = (
    "[1970-01-01 00:00:00,000] DEBUG ", "[9998-12-31 23:59:59,999] DEBUG ", "[9999-12-31 23:59:59,999] DEBUG ",
    "[2026-02-30 00:00:00,000] DEBUG ", "[2026-11-21 24:00:00,000] DEBUG ", "[0000-00-00 00:00:00,000] DEBUG ",
    "[1969-12-31 23:59:59,999] DEBUG ", "[2026-11-21 02:00:00,000] INFO ", "[2026-11-21 02:00:00,000] TRACE ",
    "[2026-11-21 02:00:00,000] FATAL ", "[2026-11-21 02:00:00,999] WARN ",
)  # fmt: skip


def at_odd_times(numbers: Iterator[int]) -> Iterator[Case]:
    """Log records at the ends of time, and at levels that are not DEBUG."""
    for prefix in PREFIXES:
        for api, version in (("JOIN_GROUP", 9), ("API_VERSIONS", 3), ("METADATA", 12)):
            number = next(numbers)
            document = _of_connection(templates()[api, version], number, 0)
            yield Case(f"{api} v{version} at {prefix}", [written(document, 0, prefix), written(document, 1)])


def write_logs(folder: Path, logs: dict[str, Iterable[Case]]) -> int:
    """Write logs, each at its path in the folder; returns how many records they hold."""
    total = 0
    for path, cases in logs.items():
        records = [*chain.from_iterable(case.records for case in cases)]
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"".join(records))
        total += len(records)
    return total
