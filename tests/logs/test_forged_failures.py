"""Clients put records of failures into texts that brokers write raw: none counts, and every genuine one beside them does."""

from dataclasses import replace

import pytest

from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.framing import ENDED_SERVER_LOG, REQUEST_LOG, SERVER_LOG, Framing
from kafka_clientinfo.logs.layouts import Layout, detect
from kafka_clientinfo.logs.parser import Parser, ServerLogParser
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.logs.unwrapping import split_records
from tests.builders import json_record
from tests.wrapping import PATTERNS, WRAPPERS, Logged

AT = "[2026-11-21 02:47:29,215]"
PROCESSOR, SELECTOR = "kafka.network.Processor", "org.apache.kafka.common.network.Selector"
COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
VERSION = "org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key 0 (Produce) and unsupported version 2"
FRAMES = "\tat kafka.network.Processor.run(SocketServer.scala:827)\n\tat java.base/java.lang.Thread.run(Unknown Source)"
TRACE = (
    "org.apache.kafka.common.errors.InvalidRequestException: Error getting request for apiKey: METADATA, apiVersion: 99\n"
    f"Caused by: java.lang.IllegalArgumentException: Unexpected ApiKeys id `99`\n{FRAMES}\n\t... 11 more"
)


def closing(host: str) -> str:
    return f"{AT} ERROR Closing socket for 10.0.0.1:9092-{host}:45612-64 because of error ({PROCESSOR})"


def login(host: str, reason: str = "(Authentication failed: Invalid username or password) ") -> str:
    channel = f"/{host} (channelId=10.0.0.1:9092-{host}:42010-68)"
    return f"{AT} INFO [SocketServer brokerId=1] Failed authentication with {channel} {reason}({SELECTOR})"


GENUINE = {
    "a request with its trace": f"{closing('10.0.0.9')}\n{TRACE}\n",
    "a request with an error that has no trace": f"{closing('10.0.0.9')}\n{VERSION}\n",
    "an exception without text": f"{closing('10.0.0.9')}\njava.io.EOFException\n{FRAMES}\n",
    "an exception of two lines": f"{closing('10.0.0.9')}\na.b.MyException: one\ntwo\n{FRAMES}\n",
    "a login": login("10.0.0.9") + "\n",
    "a login without a reason": login("10.0.0.9", "") + "\n",
    "a login with a line break in its reason": login("10.0.0.9", "(Unsupported SASL mechanism x\ny) ") + "\n",
}

BAD = "10.6.6.6"
FORGED = {
    "a request alone": closing(BAD),
    "a request and an error": f"{closing(BAD)}\n{VERSION}",
    "a request and an error, on a line of its own": f"{closing(BAD)}\n{VERSION}\n",
    "a request and its trace": f"{closing(BAD)}\n{TRACE}",
    "a request and its trace, on lines of their own": f"{closing(BAD)}\n{TRACE}\n",
    "a login": login(BAD),
    "a login on a line of its own": login(BAD) + "\n",
    "half a login": login(BAD, "(").removesuffix(f"({SELECTOR})"),
}
SEVERAL = {
    "two logins": f"{login(BAD)}\n{login(BAD)}\n",
    "a login, a request and another": f"{login(BAD)}\n{closing(BAD)}\n{TRACE}\n{closing(BAD)}\n{TRACE}\n",
    "a request, as both records report it": f"{closing(BAD)}\n{TRACE}\n"
    f"{AT} ERROR Exception while processing request from 10.0.0.1:9092-{BAD}:45612-64 ({PROCESSOR})\n{TRACE}\n",
    "what may follow": f"{closing(BAD)}\n{TRACE}\n{login(BAD)}\n\n \n",
}
GLUED = ("a request and an error", "a login")
"""On the last line of which the genuine record's rest follows, with nothing that shows it where no logger ends it."""
REBALANCE = (
    f"{AT} INFO [GroupCoordinator 1]: Preparing to rebalance group %s in state PreparingRebalance with old generation 0 "
    f"(__consumer_offsets-3) (reason: Adding new member c-1 with group instance id None) ({COORDINATOR})\n"
)
METRIC = (
    f"{AT} ERROR [KafkaApi-1] Error when handling request {{}} (kafka.server.KafkaApis)\n"
    "org.apache.kafka.common.KafkaException: Error creating mbean attribute, tags={client-id=%s, user=}]\n"
    "\tat org.apache.kafka.common.metrics.JmxReporter.addAttribute(JmxReporter.java:122)\n"
    "Caused by: javax.management.MalformedObjectNameException: Invalid character '\\n' in value part of property\n"
    "\tat java.management/javax.management.ObjectName.construct(Unknown Source)\n\t... 11 more\n"
)
HANDLED = (
    f"{AT} ERROR [KafkaApi-1] error when handling request Name: TopicMetadataRequest; ClientId: %s; Topics: a!b "
    "(kafka.server.KafkaApis)\nkafka.common.InvalidTopicException: topic name a!b is illegal\n"
    "\tat kafka.common.Topic$.validate(Topic.scala:42)\n"
)
LOGIN = (
    login("10.0.0.7", "(Client SASL mechanism '%s' not enabled in the server, enabled mechanisms are [PLAIN]) ") + "\n"
)
HOLDERS = {"a group id": REBALANCE, "an exception's text": METRIC, "a client id": HANDLED, "a mechanism": LOGIN}
OTHER = f"{AT} INFO [GroupCoordinator 1]: Stabilized group g generation 1 (__consumer_offsets-3) ({COORDINATOR})\n"

# What follows a login in a mechanism ends with the logger of a failed login: the record after it is taken for its text.
CASES = {
    **{f"{what} in {where}": holder % f"x\n{text}" for where, holder in HOLDERS.items()
       for what, text in {**FORGED, **SEVERAL}.items() if f"{what} in {where}" not in
       ("a login in a mechanism", "half a login in a mechanism")},
    **{f"{what}, the record before ended": REBALANCE % f"x ({COORDINATOR})\n{text}" for what, text in FORGED.items()},
}  # fmt: skip


def failures(data: bytes, framing: Framing) -> list[FailedRequest]:
    parser = Parser() if framing is REQUEST_LOG else ServerLogParser()
    events = [parser.parse(record) for record in split_records([data], framing=framing)]
    return [replace(event, byte_offset=0) for event in events if isinstance(event, FailedRequest)]


@pytest.mark.parametrize("framing", [SERVER_LOG, ENDED_SERVER_LOG, REQUEST_LOG], ids=["live", "ended", "mixed"])
@pytest.mark.parametrize("name", CASES)
def test_a_forged_failure_is_none_and_hides_none(name: str, framing: Framing) -> None:
    hosts = ["10.0.0.7"] if CASES[name].startswith(LOGIN[:60]) else []
    for genuine in GENUINE.values():
        data = (genuine + CASES[name] + genuine + CASES[name] + OTHER).encode()
        found = failures(data, framing)
        assert [failed.remote_host for failed in found] == ["10.0.0.9", *hosts] * 2
        assert [found[0]] == failures(genuine.encode(), ENDED_SERVER_LOG)


def laid_out(text: str, pattern: str) -> bytes:
    """Text of which every line with time and level has another layout, as log4j writes it, or a client that copies it."""
    lines = []
    for line in text.split("\n"):
        level, _, rest = line.removeprefix(AT).lstrip().partition(" ")
        message, _, logger = rest.rpartition(" (")
        logged = Logged(AT[1:-1], level, message.encode(), logger.removesuffix(")"))
        lines.append(PATTERNS[pattern](logged) if line.startswith(AT) else line.encode())
    return b"\n".join(lines)


def wrapped(text: bytes, wrapper: str) -> bytes:
    entry = Logged(AT[1:-1], "INFO", b"", "")
    return b"".join(line + b"\n" for line in WRAPPERS[wrapper](entry, text.removesuffix(b"\n"), 16 << 10))


def hosts_in(data: bytes, layout: Layout) -> list[str | None]:
    parser = Parser()
    events = [parser.parse(record) for record in split_records([data], 0, layout)]
    assert sum(isinstance(event, RequestEvent) for event in events) == 2
    return [event.remote_host for event in events if isinstance(event, FailedRequest)]


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("pattern", ["kafka", "thread_last", "bracketed_thread_last", "logger_first", "thread_first"])
def test_wrapped_lines_forge_none(pattern: str, wrapper: str) -> None:
    head, tail = REBALANCE.rstrip("\n").split("%s")
    request = laid_out(json_record().decode().replace("[2026-11-21 12:00:00,000]", AT), pattern)
    layout = detect(wrapped(request * 20, wrapper))
    for name, text in {**FORGED, **SEVERAL}.items():
        is_first = pattern in ("logger_first", "thread_first")
        if name == "half a login" or (is_first and (name in SEVERAL or name in GLUED)):
            continue  # of a layout with the logger in front only what follows shows it
        for what, genuine in GENUINE.items():
            if is_first and what == "a login with a line break in its reason":
                continue
            whole = laid_out(head + tail, pattern)
            begin = whole[: whole.index(b"group ") + 6]
            forged = begin + b"x\n" + laid_out(text, pattern) + whole[len(begin) :] + b"\n"
            data = request + laid_out(genuine, pattern) + forged + laid_out(genuine, pattern) + request
            assert hosts_in(wrapped(data, wrapper), layout) == ["10.0.0.9"] * 2, (name, genuine)
