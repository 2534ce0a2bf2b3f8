"""A made log in which whatever rules compare is often equal: few ids, hosts and versions, and times half a minute apart.

Real logs seldom stand at a limit. Here connections begin and end at one instant, are idle for just as long as a broker
allows, and count their correlation ids from 0 to 5. No null stands in a list beside a text of the same place: Spark and
DuckDB sort such structs in different orders.
"""

import json
from datetime import timedelta
from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa

from kafka_clientinfo.ingestion.arrow_schema import FAILED_TYPE, MENTION_TYPE, REQUEST_TYPE, Part
from kafka_clientinfo.logs.group_bodies import group_payloads
from kafka_clientinfo.protocol import request_header_version
from tests.concerns.group_protocols.messages import METADATA_OWNED, METADATA_V3, T1
from tests.frames import START, ZERO, at, levels, offer, request, step_back_ms

HEX, BASE64, OTHER = "00112233-4455-6677-8899-aabbccddeeff", "ABEiM0RVZneImaq7zN3u/w", "B" * 21 + "A"
IDS = (None, None, ZERO, BASE64, OTHER, HEX)
CLIENT_IDS = (None, "", "app", "app", "other", "null", "broker-1-fetcher-0", "consumer-g-1", "x" * 300)
SOFTWARE = (
    ("unknown", "unknown"), ("unknown", "unknown"), ("kgo", "1"), ("sarama", "1.2"), ("sarama", "1.10"), ("é", ""),
)  # fmt: skip
PRINCIPALS = ("User:a", "User:a", "User:b", "User:ANONYMOUS", None)
APIS = {
    "AV": (0, 3, 4), "METADATA": (0, 1, 12), "FETCH": (2, 3, 12, 13, 18), "PRODUCE": (2, 3, 9), "SASL": (1,),
    "UPDATE_METADATA": (5,), "JOIN": (2, 5, 7), "SYNC": (3, 5), "DESCRIBE": (4,), "HEARTBEAT": (1,), "TELEMETRY": (0,),
}  # fmt: skip
OFFERS = (
    [(18, 0, 3), (1, 0, 12), (0, 0, 9), (3, 0, 12)],
    [(18, 0, 4), (1, 4, 13), (0, 3, 9), (3, 0, 12), (11, 2, 7)],
    [(18, 0, 0), (1, 0, 3), (0, 0, 2)],
)
CONNECTIONS, REQUESTS = 60, 2400
RESTART = [
    {"at": at(second), "kind": kind, "value": value, "ingested_at": at(0)}
    for second, kind, value in ((1200, "launched", None), (1230, "started", "2"), (1230, "version", "4.4.0"))
]
"""What one broker says of itself, in each of its files."""


def parts(seed: int = 1313) -> tuple[list[Part], list[dict[str, Any]]]:
    """Return the log's requests, refused requests and mentions of topics, and the ledger's rows of its files."""
    dice = Random(seed)
    clients = [_client(dice, number) for number in range(CONNECTIONS)]
    seconds = sorted(30 * dice.randrange(120) for _ in range(REQUESTS))
    rows = []
    for place, second in enumerate(seconds):
        client = dice.choice(clients)
        client["correlation_id"] = dice.choice([client["correlation_id"] + 1, client["correlation_id"] + 1, 0, 3, 4])
        later = dice.choice([0, 0, 0, 0, 0, 0, -30, 600]) * (place % 7 == 0)
        rows.append(_request(dice, client, second + later, place))
    failed = [_failed(dice, place) for place in range(60)]
    files = files_of(rows)
    mentions = [row for file in files for row in _mentions(dice, file)]
    made = ("request", rows, REQUEST_TYPE), ("failed", failed, FAILED_TYPE), ("mention", mentions, MENTION_TYPE)
    return [part_of(*part) for part in made], files


def _mentions(dice: Random, file: dict[str, Any]) -> list[dict[str, Any]]:
    """Uses and names of few topics and ids, and parts of few sessions, which files of one broker hold in turn."""
    where = {name: file[name] for name in ("cluster", "broker", "file_id")}
    span = {"first_at": file["first_logged_at"], "last_at": file["last_logged_at"]}
    rows: list[dict[str, Any]] = []
    for _ in range(30):
        kind = dice.choice(["use", "use", "name", "deletion", "session"])
        named = {"topic": dice.choice(["t", "u", None]), "topic_id": dice.choice([BASE64, OTHER, None])}
        row = {"kind": kind, "byte_offset": 0, "row_number": len(rows), "requests": dice.randrange(1, 4)}
        row = where | span | named | row
        name, version = dice.choice(SOFTWARE)
        who = {
            "principal": dice.choice(PRINCIPALS), "client_id": dice.choice(CLIENT_IDS), "client_software_name": name,
            "client_software_version": version, "operation": "fetch", "day": START.date(),
        }  # fmt: skip
        if kind == "use":
            row |= who | {"bytes": dice.choice([None, 5]), "groups": dice.choice([[], ["g"], ["f", "g"]])}
            row |= {"errors": dice.choice([None, [], [(3, 1)], [(3, 2), (6, 1)]])}
        if kind == "session":
            first = dice.randrange(3)
            session = {
                "session": dice.choice("78"), "session_number": len(rows), "first_epoch": first,
                "last_epoch": first + dice.randrange(2), "is_start": first == 0 and dice.random() < 0.5,
                "is_cut": dice.random() < 0.1, "is_over": dice.random() < 0.1,
            }  # fmt: skip
            who |= {
                "principal": None, "client_id": "app", "client_software_name": "kgo", "client_software_version": "1",
            }  # fmt: skip
            row |= who | session | {"topic": None, "topic_id": None}
            held = [
                {"partition": n, "is_held": dice.random() < 0.8, "uncounted": dice.randrange(3), "uncounted_at": at_}
                for n, at_ in ((0, None), (1, span["last_at"]))
            ]
            of_topic = {"kind": "session_topic", "topic": "t", "topic_id": None, "requests": 1}
            rows.append(row | of_topic | {"partitions": held})
            row |= {"row_number": len(rows)}
        rows.append(row)
    return rows


def part_of(kind: str, rows: list[dict[str, Any]], kinds: pa.StructType) -> Part:
    schema = pa.schema(list(kinds))
    return Part(
        kind, pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)
    )


def _client(dice: Random, number: int) -> dict[str, Any]:
    name, version = dice.choice(SOFTWARE)
    broker = dice.choice(["b1", "b1", "b2", "b3"])
    return {
        "connection_id": f"10.0.0.1:9092-10.0.0.{number % 4}:{number // 2}-{number // 3}",
        "cluster": "d" if broker == "b3" else "c", "broker": broker, "remote_host": f"10.0.0.{number % 4}",
        "principal": dice.choice(PRINCIPALS), "client_id": dice.choice(CLIENT_IDS), "client_software_name": name,
        "client_software_version": version, "client_instance_id": dice.choice(IDS),
        "listener": dice.choice(["PLAINTEXT", "PLAINTEXT", "SASL", "CONTROLLER"]),
        "log_generation": dice.choice(["json", "json", "json", "request_header_struct", "api_key_struct"]),
        "correlation_id": dice.randrange(6), "is_slow": dice.random() < 0.2,
    }  # fmt: skip


def _request(dice: Random, client: dict[str, Any], second: float, place: int) -> dict[str, Any]:
    api = dice.choice([*APIS, "AV", "AV", "METADATA", "FETCH", "JOIN"])
    version = dice.choice(APIS[api])
    given = {name: value for name, value in client.items() if name != "is_slow"}
    if dice.random() < 0.15:
        given["client_id"] = dice.choice(CLIENT_IDS)
    if dice.random() < 0.05:
        given["client_software_name"], given["client_software_version"] = dice.choice(SOFTWARE)
    if dice.random() < 0.03:
        given["principal"] = dice.choice(PRINCIPALS)
    if given["client_instance_id"] is not None and dice.random() < 0.2:
        given["client_instance_id"] = dice.choice(IDS)
    connection = given.pop("connection_id")
    row = request(connection, second, api, version, **given)
    sent, answer = _bodies(dice, api, version)
    error = dice.choice([0, 0, 0, 35, 42, None]) if api == "AV" else dice.choice([None, None, 0, 23])
    texts = None if sent is None else json.dumps(sent), answer
    has_id = given["client_instance_id"] is not None
    return row | {
        "file_id": f"{row['broker']}-{int(second >= 1800)}", "byte_offset": 10 * place,
        "started_at": at(second - 30 * client["is_slow"]), "error_code": error,
        "header_version": 3 if has_id else request_header_version(row["api_key"], version),
        "is_forwarded": dice.random() < 0.01, "is_duplicate": dice.random() < 0.02,
        "api_version_deprecated": dice.random() < 0.1,
        "log_level": dice.choice(["DEBUG", "TRACE", "INFO" if row["broker"] == "b3" else "DEBUG"]),
        "throttle_time_ms": dice.choice([0.0, 0.0, 7.5]),
        "replica_id": dice.choice([None, None, -1, -1, 2]) if api == "FETCH" else None,
        "forged_lines": dice.choice([None, 0, 0, 0, 2]), "request": texts[0], "response": texts[1],
        "group_payloads": group_payloads(row["api_key"], *texts) if api in ("JOIN", "SYNC", "DESCRIBE") else None,
    }  # fmt: skip


def _bodies(dice: Random, api: str, version: int) -> tuple[dict[str, Any] | None, str | None]:
    """Make the bodies that rules read, of an API's request and of its response."""
    member = {"memberId": dice.choice(["m1", "m2", "", HEX, BASE64]), "groupId": f"g{dice.randrange(5)}"}
    member["generationId"] = dice.choice([-1, 0, 1, 2])
    kind, name = dice.choice(["consumer", "consumer", "connect", ""]), dice.choice(["range", "sticky", ""])
    if api == "AV":
        software = dice.choice(["kgo", "k go", "", "-x"])
        named = {"clientSoftwareName": software, "clientSoftwareVersion": dice.choice(["1", ""])}
        ranges = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in dice.choice(OFFERS)]
        answer = dice.choice([json.dumps({"errorCode": 0, "apiKeys": ranges}), offer(0, dice.choice([0, 2, 3])), None])
        return (named if version >= 3 else {}), answer
    if api == "JOIN":
        protocols = [
            {"name": one, "metadata": dice.choice([METADATA_V3, METADATA_OWNED, "AA=="])}
            for one in dict.fromkeys(("range", name))
        ]
        answer = {
            "memberId": member["memberId"], "protocolName": name, "members": [], "generationId": member["generationId"],
        }  # fmt: skip
        answer |= {"protocolType": dice.choice([kind, "connect", None])} if version >= 7 else {}
        return member | {"protocolType": kind, "protocols": protocols}, dice.choice([json.dumps(answer), None])
    if api == "SYNC":
        typed = {"protocolType": kind, "protocolName": name} if version >= 5 else {}
        answer = typed | {"assignment": dice.choice([T1, "AA==", ""]), "protocolName": dice.choice(["range", "sticky"])}
        return member | {"assignments": []} | typed, dice.choice([json.dumps(answer), None])
    if api == "DESCRIBE":
        group = {"groupId": member["groupId"], "protocolType": kind, "protocolData": name, "members": []}
        return {"groups": [member["groupId"]]}, json.dumps({"groups": [group]})
    if api == "HEARTBEAT":  # a null protocol beside a name of one member is sorted by each engine in its own way
        member["memberId"] += " of its own"
        topics = {"subscribedTopicNames": dice.choice([["t1", "t0"], None]), "rackId": dice.choice(["r", None])}
        return member | topics, "{}"
    if api == "TELEMETRY":
        sent, given = ({"clientInstanceId": dice.choice([ZERO, BASE64])} for _ in range(2))
        return sent, json.dumps(given)
    return None, None


def _failed(dice: Random, place: int) -> dict[str, Any]:
    api, version = dice.choice([(0, "PRODUCE"), (1, "FETCH"), (18, "API_VERSIONS")]), dice.choice([2, 3, 12, 18, None])
    number, broker = dice.randrange(CONNECTIONS), dice.choice(["b1", "b2"])
    reasons = [
        "unsupported_version", "unsupported_version", "unknown_api", "unreadable_request", "failed_authentication",
    ]  # fmt: skip
    return {
        "cluster": "c", "broker": broker, "file_id": f"{broker}-s", "byte_offset": place,
        "logged_at": at(30 * dice.randrange(120)),
        "connection_id": dice.choice([f"10.0.0.1:9092-10.0.0.{number % 4}:{number // 2}-{number // 3}", None]),
        "remote_host": f"10.0.0.{number % 4}", "api_key": api[0], "api_name": api[1], "api_version": version,
        "listener": dice.choice(["PLAINTEXT", None]), "principal": dice.choice(PRINCIPALS), "reason": dice.choice(reasons),
        "detail": "why",
    }  # fmt: skip


def files_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    files = []
    for name in sorted({row["file_id"] for row in rows}):
        of_file = [row for row in rows if row["file_id"] == name]
        times = [row["logged_at"] for row in of_file]
        cluster, broker = of_file[0]["cluster"], of_file[0]["broker"]
        files.append(levels(of_file, lambda row: None) | {
            "bytes_ingested": 1, "size_on_disk": 1, "records": 1, "file_id": name, "path": name, "cluster": cluster,
            "broker": broker, "compressed": False, "first_record_offset": 0, "ambiguous_hour": False, "opening_hash": None,
            "pending_bytes": 0, "ignored": None, "resume_hash": "", "requests": len(times), "rejected": 0,
            "first_logged_at": times[0], "damage": None, "last_logged_at": list(accumulate(times, max))[-1],
            "step_back_ms": step_back_ms(times), "batch_id": "1", "covers_broker_start": broker == "b2",
            "ingested_at": START + timedelta(days=1), "broker_events": RESTART if broker == "b2" else [],
        })  # fmt: skip
    return files
