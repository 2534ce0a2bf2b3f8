"""The corpus' hand-made clients: a few frames each, written byte by byte, with what a broker did about each.

Bodies are the smallest that a broker takes. ApiVersions carries a software name from v3 on; versions that no broker
knows are sent in the form of v3.
"""

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

PRODUCE, METADATA, API_VERSIONS, OFFSET_DELETE, GET_TELEMETRY = 0, 3, 18, 47, 71
UNSUPPORTED_VERSION = 35
PATIENCE = 10.0
UNKNOWN = ("unknown", "unknown")
NAMED = ("raw-lib", "1.2.3")

Client = tuple[str | None, str, str]


class Frame(NamedTuple):
    """A request: `client_id` where it is not the scenario's, `software` for ApiVersions, `cut` bytes left away."""

    api: int
    version: int
    software: tuple[str, str] = NAMED
    client_id: str | None = "-"
    cut: int = 0


class Scenario(NamedTuple):
    """Frames on one connection; `known_as` is the software that a broker knows the connection by."""

    client_id: str | None
    known_as: tuple[str, str]
    frames: tuple[Frame, ...]
    pipelined: bool = False

    @property
    def client(self) -> Client:
        return (self.client_id, *self.known_as)


V0, V3, V99 = Frame(API_VERSIONS, 0), Frame(API_VERSIONS, 3), Frame(API_VERSIONS, 99)
META = Frame(METADATA, 1)

SCENARIOS = (
    Scenario("probe", UNKNOWN, (V0,)),
    Scenario("probe", NAMED, (V3,)),
    Scenario("probe", UNKNOWN, (V99,)),
    Scenario("retry-cli", UNKNOWN, (V99, V0, META)),
    Scenario("retry3-cli", NAMED, (V99, V3, META)),
    Scenario("giveup-cli", UNKNOWN, (V99,)),
    Scenario(
        "badname",
        ("good-name", "2.0"),
        (V3._replace(software=("bad name!", "1.2.3")), META, V3._replace(software=("good-name", "2.0")), META),
    ),
    Scenario("emptyname", UNKNOWN, (V3._replace(software=("", "1.2.3")), META)),
    Scenario("badver", UNKNOWN, (V3._replace(software=("okname", "1 0;x")), META)),
    Scenario('we"ird\\ å中 {x}} (kafka.request.logger)', NAMED, (V3, META)),
    Scenario("new\nline\tcid", NAMED, (V3, META)),
    Scenario("no-av", UNKNOWN, (Frame(METADATA, 0),)),
    Scenario("no-av", UNKNOWN, (META, META)),
    Scenario(None, UNKNOWN, (V3, V0, META)),
    Scenario("", NAMED, (V3, META)),
    Scenario("chg-a", NAMED, (V3, META._replace(client_id="chg-b"), META._replace(client_id="chg-c"), META)),
    Scenario("corr", NAMED, (V3, META, META, META, META)),
    Scenario("unsup", NAMED, (V3, Frame(METADATA, 99))),
    Scenario("oldprod", NAMED, (V3, Frame(PRODUCE, 0))),
    Scenario("trunc", NAMED, (V3, META._replace(cut=2))),
    Scenario("sameport-0", ("lib-0", "1.2.3"), (V3._replace(software=("lib-0", "1.2.3")), META)),
    Scenario("sameport-1", ("lib-1", "1.2.3"), (V3._replace(software=("lib-1", "1.2.3")), META)),
    Scenario("unkapi", NAMED, (V3, Frame(999, 0))),
    Scenario("twice", NAMED, (V3, V3, META)),
    Scenario(
        "twice2",
        UNKNOWN,
        (V3._replace(software=("lib-a", "1")), META, V3._replace(software=("lib-b", "2")), META, V0, META),
    ),
    Scenario("late", ("late-lib", "1.2.3"), (META, V3._replace(software=("late-lib", "1.2.3")), META)),
    Scenario("offdel", NAMED, (V3, Frame(OFFSET_DELETE, 0))),
    Scenario("telem", NAMED, (V3, Frame(GET_TELEMETRY, 0))),
    Scenario("pipe", UNKNOWN, (META,) * 5, pipelined=True),
    Scenario("half", NAMED, (V3,)),
    Scenario("L" * 3000, NAMED, (V3,)),
    Scenario("die", UNKNOWN, (META,)),
)


def played(address: str) -> Iterator[tuple[Client, str, str | None]]:
    """Play all scenarios; per frame the client, what it asked and what went wrong (None: it was answered)."""
    host, _, port = address.partition(":")
    for number, scenario in enumerate(SCENARIOS):
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            for index, error in enumerate(answers(connection, scenario)):
                frame = scenario.frames[index]
                yield scenario.client, f"frame {number}.{index}: api {frame.api} v{frame.version}", error


def answers(connection: socket.socket, scenario: Scenario) -> Iterator[str | None]:
    sent = [encoded(scenario, index) for index in range(len(scenario.frames))]
    if scenario.pipelined:
        connection.sendall(b"".join(sent))
    for frame, data in zip(scenario.frames, sent, strict=True):
        try:
            if not scenario.pipelined:
                connection.sendall(data)
            yield refusal(frame, response(connection))
        except (EOFError, OSError) as error:
            yield f"{type(error).__name__}: {error}"


def response(connection: socket.socket) -> bytes:
    """The next response from its correlation id on."""
    return exactly(connection, struct.unpack(">i", exactly(connection, 4))[0])


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (more := connection.recv(count - len(data))):
            raise EOFError("the broker closed the connection")
        data += more
    return data


def refusal(frame: Frame, answer: bytes) -> str | None:
    """ApiVersions alone says what it thinks of a version; of the other APIs, it is the closed connection that does."""
    if frame.api == API_VERSIONS and struct.unpack_from(">h", answer, 4)[0] == UNSUPPORTED_VERSION:
        return "UNSUPPORTED_VERSION"
    return None


def encoded(scenario: Scenario, index: int) -> bytes:
    frame = scenario.frames[index]
    client_id = scenario.client_id if frame.client_id == "-" else frame.client_id
    header = struct.pack(">hhi", frame.api, frame.version, index) + text(client_id)
    content = header + body(frame)
    content = content[: len(content) - frame.cut]
    return struct.pack(">i", len(content)) + content


def body(frame: Frame) -> bytes:
    if frame.api == API_VERSIONS and frame.version >= 3:
        tags = b"\0"
        return tags + b"".join(compact(part) for part in frame.software) + tags
    if frame.api == API_VERSIONS:
        return b""
    if frame.api == PRODUCE:
        return struct.pack(">hii", 1, 1000, 0)  # acks, timeout, no topic
    if frame.api == OFFSET_DELETE:
        partition = struct.pack(">ii", 1, 0)
        return text("nogroup") + struct.pack(">i", 1) + text("t1") + partition
    if frame.api == GET_TELEMETRY:
        return b"\0" + bytes(16) + b"\0"
    return struct.pack(">i", 0)  # Metadata: an empty list of topics


def text(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">h", -1)
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def compact(value: str) -> bytes:
    data = value.encode()
    return bytes([len(data) + 1]) + data
