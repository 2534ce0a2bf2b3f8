"""Logs in text, and of server.log, in which every field of records holds what is odd there, one at a time (see `any_value`)."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache
from itertools import count, islice
from typing import Any

from .any_value import START, Case, sample_lines

_TEXT = re.compile(
    rb"Completed request:(?:RequestHeader\(apiKey=(\w+), apiVersion=(\d+)|\{api_key=(\d+),api_version=(\d+)"
    rb"|Name: ?(\w+); ?Version: ?(\d+)).* \(kafka\.request\.logger\)"
)
_TEXT_FIELD = re.compile(r"(?<=[{,( ;])([A-Za-z_]\w*)([=:] ?)([^,{}()\[\];=]*)")
_TEXT_ODD = ("", "null", "x", "-1", "7", "99999999999", "9" * 30, "1.5", "[]", "{}", "[null]", "{a=b}", "[{}]", "true", "a=b", "a" * 300, "\u2028é", "-")  # fmt: skip
_GROUP = re.compile(r"((?:group_id|member_id|leader|leader_id|GroupId|Group)[=:] ?)([^,{}()\[\];]+)")
_CLIENT_ID = re.compile(r"((?:client_id|clientId|ClientId)[=:] ?)([^,{}()\[\];]+)")
_END = re.compile(r" from (client|connection) [^;]*;")


@lru_cache(maxsize=1)
def text_templates() -> list[str]:
    """Take of each text generation, API and version of the sample logs the record with the most fields."""
    best: dict[tuple[Any, ...], tuple[int, int, str]] = {}
    for found in sample_lines(_TEXT):
        text = found.string.decode()
        kind = (found.lastindex, *filter(None, found.groups()))
        rank = (len({name for name, _, _ in _TEXT_FIELD.findall(text)}), -len(text), text)
        if len(text) < 4000 and (kind not in best or rank > best[kind]):
            best[kind] = rank
    return [text for _, (_, _, text) in sorted(best.items(), key=str)]


def text_cases(numbers: Iterator[int], step: int) -> Iterator[Case]:
    """Change every named value of text records, as far as their grammar has names; each `step`th of the odd values."""
    places = count()
    for template in text_templates():
        fields = {found[1]: found.span(3) for found in _TEXT_FIELD.finditer(template) if found[1] != "request"}
        for name, (start, end) in fields.items():
            for value in islice(_TEXT_ODD, next(places) % step, None, step):
                text = _of_text_connection(template[:start] + "@odd@" + template[end:], next(numbers))
                yield Case(f"{name} = {value!r}: {template[32:120]}", [text.replace("@odd@", value).encode() + b"\n"])


def _of_text_connection(template: str, number: int) -> str:
    def own(begin: str) -> Callable[[re.Match[str]], str]:
        return lambda found: found[0] if "@odd@" in found[0] else f"{found[1]}{begin}{number}"

    host = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:{40000 + number % 20000}"
    text = _CLIENT_ID.sub(own("client"), _GROUP.sub(own("g"), template))
    ends = {"client": f" from client /{host};", "connection": f" from connection 10.255.0.1:9092-{host};"}
    return _END.sub(lambda found: found[0] if "@odd@" in found[0] else ends[found[1]], text)


_REFUSAL = {
    "connection": "10.255.0.1:9092-{host}-0-{number}", "api": "METADATA", "version": "{number}", "listener": "PLAINTEXT",
    "principal": "User:u{number}", "error": "UnsupportedVersionException",
}  # fmt: skip
_CLOSED = (
    "[{time}] ERROR Closing socket for {connection} because of error (kafka.network.Processor)\n"
    "org.apache.kafka.common.errors.InvalidRequestException: Error getting request for apiKey: {api}, apiVersion: {version}, "
    "connectionId: {connection}, listenerName: ListenerName({listener}), principal: {principal}\n"
    "Caused by: org.apache.kafka.common.errors.{error}: Can't read version\n"
)
_LOGIN = "[{time}] INFO [SocketServer] Failed authentication with /{host} (channelId={connection}) ({error}) (org.apache.kafka.common.network.Selector)\n"


def server_log_cases(numbers: Iterator[int]) -> Iterator[Case]:
    """Make records of a server.log in which a broker refuses a request or a login, with every text changed."""
    for template in (_CLOSED, _LOGIN):
        for name in _REFUSAL:
            for value in _TEXT_ODD:
                number = next(numbers)
                host = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:{40000 + number % 20000}"
                own = {one: text.format(host=host, number=number % 30) for one, text in _REFUSAL.items()}
                own[name] = value
                moment = START + timedelta(milliseconds=number)
                time = f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"
                yield Case(f"{name} = {value!r}", [template.format(time=time, host=host, **own).encode()])
    # A failed login at the end of a live server.log waits for the record after it.
    end = f"[{START:%Y-%m-%d %H:%M:%S},999] INFO Kafka server is ready (kafka.server.KafkaServer)\n"
    yield Case("an end", [end.encode()])
