"""Writes requests in the patterns and wrappers that logs have, each as a function of a line's time, level and message."""

import re
from collections.abc import Callable
from datetime import datetime
from json import dumps

from tests.logs.excerpts import EXCERPTS, GENERATIONS, parse, requests

MESSAGE = re.compile(r"\[([\d-]+) ([\d:]+),(\d+)\] (\w+) (.*) \(kafka\.request\.logger\)")
Write = Callable[[str, str, str, str, str], str]
"""Writes a line from its day, time, milliseconds, level and message."""
THREAD = "data-plane-kafka-network-thread-0-ListenerName(PLAIN-9092)-PLAINTEXT-1"
LOGGER = "kafka.request.logger"


def kafka(day: str, time: str, ms: str, level: str, message: str) -> str:
    return f"[{day} {time},{ms}] {level} {message} (kafka.request.logger)"


def epoch(day: str, time: str, ms: str) -> int:
    return round(datetime.fromisoformat(f"{day}T{time}+00:00").timestamp()) * 1000 + int(ms)


def in_json(key: str, is_line: bool) -> Write:
    def write(day: str, time: str, ms: str, level: str, message: str) -> str:
        text = kafka(day, time, ms, level, message) if is_line else message
        return dumps({"timestamp": f"{day}T{time}.{ms}Z", "level": level, key: text})

    return write


def ecs(day: str, time: str, ms: str, level: str, message: str) -> str:
    return dumps({"@timestamp": f"{day}T{time}.{ms}Z", "log.level": level, "message": message})


def csv_of(*fields: str, delimiter: str = ",") -> str:
    return delimiter.join('"' + field.replace('"', '""') + '"' for field in fields)


def month(day: str) -> str:
    return f"{datetime.fromisoformat(day):%b}"


PATTERNS: dict[str, Write] = {
    "Cloudera": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} {LOGGER}: {m}",
    "Confluent for Kubernetes": lambda d, t, ms, lv, m: (
        f"[{lv}] {d} {t},{ms} [{THREAD}] {LOGGER} updateRequestMetrics - app=kafka, server=0 - {m}"
    ),
    "Huawei": lambda d, t, ms, lv, m: f"{d} {t},{ms} | {lv}  | [{THREAD}] | {m} | {LOGGER} (Logging.scala:62)",
    "JBoss": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} [{LOGGER}] ({THREAD}) {m}",
    "place in the source": lambda d, t, ms, lv, m: (
        f"{d} {t},{ms} {lv} [{THREAD}] {LOGGER} (RequestChannel.scala:updateRequestMetrics(249)) - {m}"
    ),
    "line after the logger": lambda d, t, ms, lv, m: f"[{d} {t},{ms}] {lv} {m} ({LOGGER}:249)",
    "MDC": lambda d, t, ms, lv, m: f"[{d} {t},{ms}] {lv} [broker=1] {m} ({LOGGER})",
    "brackets": lambda d, t, ms, lv, m: f"[{d} {t},{ms}][{lv}][{LOGGER}] {m}",
    "pipes": lambda d, t, ms, lv, m: f"{d} {t},{ms} | {lv} | {LOGGER} | {m}",
    "tabs": lambda d, t, ms, lv, m: f"{d} {t},{ms}\t{lv}\t{LOGGER}\t{m}",
    "small letters": lambda d, t, ms, lv, m: f"[{d} {t},{ms}] {lv.lower()} {m} ({LOGGER})",
    "slashes": lambda d, t, ms, lv, m: f"{d.replace('-', '/')} {t}.{ms} {lv} {LOGGER} - {m}",
    "as web servers write": lambda d, t, ms, lv, m: f"[{d[8:]}/{month(d)}/{d[:4]}:{t}.{ms} +0000] {lv} {m}",
    "%d{DATE}": lambda d, t, ms, lv, m: f"{d[8:]} {month(d)} {d[:4]} {t},{ms} {lv} [t] {LOGGER}: {m}",
    "%d{ISO8601_BASIC}": lambda d, t, ms, lv, m: f"{d.replace('-', '')}T{t.replace(':', '')},{ms} {lv} {m}",
    "%d{UNIX_MILLIS}": lambda d, t, ms, lv, m: f"{epoch(d, t, ms)} {lv} {m}",
    "seconds of the epoch": lambda d, t, ms, lv, m: f"{epoch(d, t, ms) // 1000}.{ms} {lv} {m}",
    "docker compose": lambda *line: f"kafka-1  | {kafka(*line)}",
    "kubectl --prefix": lambda *line: f"[pod/my-cluster-kafka-0/kafka] {kafka(*line)}",
    "grep": lambda *line: f"/var/log/kafka/kafka-request.log:12:{kafka(*line)}",
    "Loki": lambda d, t, ms, lv, m: f'{d}T{t}.{ms}Z {{app="kafka", pod="kafka-0"}} {kafka(d, t, ms, lv, m)}',
    "glog": lambda d, t, ms, lv, m: f"I{d[5:7]}{d[8:]} {t}.{ms}000 17 request.go:62] {m}",
    "a month's name and two digits": lambda d, t, ms, lv, m: f"{d[8:]}-{month(d)}-{d[2:4]} {t},{ms} {lv} {LOGGER}: {m}",
    "a month in capitals": lambda d, t, ms, lv, m: f"{d[8:]}-{month(d).upper()}-{d[:4]} {t}.{ms} {lv} {m}",
    "a date after the logger": lambda d, t, ms, lv, m: f"{lv} {m} ({LOGGER}) [{d} {t},{ms}]",
    "days with dashes": lambda d, t, ms, lv, m: f"{d[8:]}-{d[5:7]}-{d[:4]} {t},{ms} {lv} {m}",
    "years of two digits": lambda d, t, ms, lv, m: f"{d[2:].replace('-', '/')} {t},{ms} {lv} {LOGGER}: {m}",
    "date and time apart": lambda d, t, ms, lv, m: dumps({"date": d, "time": f"{t}.{ms}", "message": m}),
    "JSON in an array": lambda *line: f"{in_json('message', True)(*line)},",
    "JSON in lines": lambda *line: f'    "message": {dumps(kafka(*line))},',
    "GELF": lambda d, t, ms, lv, m: dumps(
        {"short_message": m[:9], "full_message": m, "timestamp": epoch(d, t, ms) / 1000, "level": 7}
    ),
    "CloudWatch": lambda d, t, ms, lv, m: f"{d}T{t}.{ms}000+00:00 broker/1 {kafka(d, t, ms, lv, m)}",
    "journal with a weekday": lambda d, t, ms, lv, m: f"Sat {d} {t} UTC host kafka[1]: {kafka(d, t, ms, lv, m)}",
    "syslog with fraction and year": lambda d, t, ms, lv, m: f"{month(d)} {d[8:]} {d[:4]} {t}.{ms} host kafka[1]: {m}",
    "colours": lambda *line: f"\x1b[36m{kafka(*line)}\x1b[0m",
    "logfmt": lambda d, t, ms, lv, m: f'time="{d}T{t}.{ms}Z" level={lv.lower()} msg={dumps(m)}',
    "CSV": lambda d, t, ms, lv, m: csv_of(f"{d}T{t}.{ms}Z", "host", kafka(d, t, ms, lv, m)),
    "CSV with the time of receipt": lambda d, t, ms, lv, m: csv_of(f"{d}T{t}.{ms}Z", m, f"{d}T23:59:59.999Z"),
    "CSV with two numbers": lambda d, t, ms, lv, m: csv_of(str(epoch(d, t, ms) + 9), str(epoch(d, t, ms)), m),
    "CSV with the message alone": lambda d, t, ms, lv, m: csv_of(f"{d}T{t}.{ms}Z", "host", m),
    "compose around JSON": lambda d, t, ms, lv, m: (
        f"kafka-1  | {dumps({'@timestamp': f'{d}T{t}.{ms}Z', 'message': m, 'level': lv})}"
    ),
    **{f"JSON, {key}": in_json(key, True) for key in ("log", "msg", "textPayload", "_raw", "event", "line", "body")},
    **{f"JSON, {key} alone": in_json(key, False) for key in ("message", "textPayload", "event")},
    "Elasticsearch": lambda d, t, ms, lv, m: dumps(
        {"_index": "i", "_source": {"@timestamp": f"{d}T{t}.{ms}Z", "message": m, "level": lv}}
    ),
    "Splunk": lambda *line: dumps({"preview": False, "result": {"_raw": kafka(*line)}}),
    "JSON in JSON": lambda d, t, ms, lv, m: dumps(
        {"time": f"{d}T{t}.{ms}Z", "message": dumps({"log": kafka(d, t, ms, lv, m)})}
    ),
    "fluent-bit": lambda d, t, ms, lv, m: dumps(
        {"time": f"{d}T{t}.{ms}Z", "stream": "stdout", "_p": "F", "log": kafka(d, t, ms, lv, m)}
    ),
    "MDC in braces": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} {{a=b, c=d-e}} [{THREAD}] {LOGGER} - {m}",
    "no MDC": lambda d, t, ms, lv, m: f"[{d} {t},{ms}] {lv} {{}} {m} ({LOGGER})",
    "MDC at the end": lambda *line: f"{kafka(*line)} [{THREAD}] {{a=b}}",
    "place at the end": lambda *line: f"{kafka(*line)} [{THREAD}] (RequestChannel.scala:241)",
    "logger after a dash": lambda d, t, ms, lv, m: f"{d} {t},{ms} {lv} {m} - {LOGGER}",
    "days with dots": lambda d, t, ms, lv, m: f"{d[8:]}.{d[5:7]}.{d[:4]} {t},{ms} {lv} {m}",
    "svlogd": lambda d, t, ms, lv, m: f"{d}_{t}.{ms} {m}",
    "%d{UNIX_MICROS}": lambda d, t, ms, lv, m: f"{epoch(d, t, ms)}000 {lv} {m}",
    "milliseconds after a colon": lambda d, t, ms, lv, m: f"{d} {t}:{ms} {lv} {LOGGER} - {m}",
    "a time alone": lambda d, t, ms, lv, m: f"{d}T{t}.{ms}Z {m}",
    "colours of grep": lambda *line: kafka(*line).replace(
        "Completed request", "\x1b[01;31m\x1b[KCompleted request\x1b[m\x1b[K"
    ),
    "zeros before a line": lambda *line: "\0" * 2000 + kafka(*line),
    "CSV with the message first": lambda d, t, ms, lv, m: csv_of(m, "host", f"{d}T{t}.{ms}Z"),
    "CSV with semicolons": lambda d, t, ms, lv, m: csv_of(f"{d}T{t}.{ms}Z", "host", m, delimiter=";"),
    "CSV of Azure": lambda d, t, ms, lv, m: csv_of(f"{d[5:7]}/{d[8:]}/{d[:4]}, {t}.{ms} AM", "host", m),
    "CSV with date and time apart": lambda d, t, ms, lv, m: csv_of(d, f"{t}.{ms}", m),
    "a row of Loki": lambda d, t, ms, lv, m: dumps([f"{epoch(d, t, ms)}000000", m]),
    "CSV of Kibana": lambda d, t, ms, lv, m: csv_of(f"{month(d)} {d[8:]}, {d[:4]} @ {t}.{ms}", m),
    "logfmt with the message first": lambda d, t, ms, lv, m: f"msg={dumps(m)} level=debug ts={d}T{t}.{ms}Z",
    "Azure": lambda d, t, ms, lv, m: dumps({"TimeGenerated": f"{d}T{t}.{ms}Z", "LogMessage": m}),
    "OpenTelemetry": lambda d, t, ms, lv, m: dumps(
        {"logRecords": [{"timeUnixNano": f"{epoch(d, t, ms)}000000", "body": {"stringValue": m}}]}
    ),
    "fields in lists": lambda d, t, ms, lv, m: dumps({"fields": {"@timestamp": [f"{d}T{t}.{ms}Z"], "message": [m]}}),
    "thread after the logger": lambda *line: f"{kafka(*line)} ({THREAD})",
    "logger in an event's message": lambda d, t, ms, lv, m: dumps(
        {"@timestamp": f"{d}T{t}.{ms}Z", "message": f"{m} ({LOGGER})"}
    ),
    "syslog-ng": lambda d, t, ms, lv, m: dumps({"ISODATE": f"{d}T{t}.{ms}+00:00", "MESSAGE": m, "HOST": "h"}),
    "a time in another object": lambda d, t, ms, lv, m: dumps(
        {"events": [{"meta": {"ts": {"$date": f"{d}T{t}.{ms}Z"}}, "m": {"v": m}}]}
    ),
    "Splunk around ECS": lambda *line: dumps({"result": {"_raw": ecs(*line)}}),
    "CSV around ECS": lambda d, t, ms, lv, m: csv_of("host", ecs(d, t, ms, lv, m), ""),
    "Huawei with a blank at the end": lambda *line: PATTERNS["Huawei"](*line) + " ",
    "fluent-bit with another time": lambda d, t, ms, lv, m: dumps(
        {"@timestamp": f"{d}T{t}.{ms}Z", "log": m + "\n", "stream": "stdout"}
    ),
    "fluent-bit without marks": lambda d, t, ms, lv, m: dumps(
        {"time": f"{d}T{t}.{ms}Z", "stream": "stdout", "log": kafka(d, t, ms, lv, m)}
    ),
}
LINES = {
    name: [
        match
        for line in EXCERPTS[name].decode().split("\n")
        if (match := MESSAGE.fullmatch(line)) and len(requests(parse(line.encode() + b"\n"))) == 1
    ]
    for name in GENERATIONS
}


def written(write: Write, lines: list[re.Match[str]]) -> bytes:
    return "".join(f"{write(*line.groups())}\n" for line in lines).encode()
