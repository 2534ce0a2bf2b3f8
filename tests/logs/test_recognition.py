"""Whether a file is a request log, judged by its beginning, whatever it is called."""

import bz2
import gzip
from itertools import product

import pytest

from kafka_clientinfo.logs import recognition
from kafka_clientinfo.logs.layouts import UnreadableForm
from kafka_clientinfo.logs.recognition import content_of
from tests.amounts import one_in
from tests.builders import json_record
from tests.logs.conftest import Save
from tests.logs.excerpts import EXCERPTS, GENERATIONS
from tests.wrapping import KINDS, wrap

LOG = b"".join(json_record(correlation_id=number) for number in range(20))
FORGED = b"\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"
SERVER = (
    b"[2026-11-21 02:45:09,935] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
    b"[2026-11-21 02:45:10,011] ERROR Closing socket for 127.0.0.1:9092-127.0.0.1:4711-0 because of error (kafka.network.Processor)\n"
    b"java.io.EOFException\n\tat x.y(Z.java:1)\n"
)
GC = (
    b"[2026-11-21T02:45:09.935+0000][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.1ms\n"
    * 50
)
HANDLED = (
    b"[2026-11-22 14:24:10,467] TRACE [KafkaApi-1] Handling request:RequestHeader(apiKey=API_VERSIONS, apiVersion=3, "
    b"clientId=app-1, correlationId=0, headerVersion=2) -- ApiVersionsRequestData(clientSoftwareName='my-lib', "
    b"clientSoftwareVersion='1.2.3') from connection 127.0.0.1:17092-127.0.0.1:47464-0;securityProtocol:PLAINTEXT,"
    b"principal:User:ANONYMOUS (kafka.server.KafkaApis)\n"
)


CLIENT = (
    b"[2026-11-21 02:45:09,935] INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)\n"
    b"[2026-11-21 02:45:10,011] ERROR it failed (com.example.App)\n\tat kafka.server.KafkaApis.handle(KafkaApis.scala:1)\n"
)


@pytest.mark.parametrize(
    ("pattern", "wrapper"),
    one_in(3, [kind for kind in KINDS if not {"message", "no_logger", "logger_first", "journal"} & set(kind)]),
)
def test_it_recognises_a_broker_by_its_loggers(save: Save, pattern: str, wrapper: str) -> None:
    """Without the logger's whole name on the line it does not."""
    assert content_of(save(wrap(SERVER.splitlines(True)[0], pattern, wrapper))) == "broker"


@pytest.mark.parametrize(("generation", "kind"), one_in(3, product(GENERATIONS, KINDS)))
def test_it_recognises_requests_in_every_layout(save: Save, generation: str, kind: tuple[str, str]) -> None:
    assert content_of(save(wrap(EXCERPTS[generation], *kind))) == "requests"


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (json_record().replace(b",000]", b",000 CET]"), "requests"),
        (LOG, "requests"),
        (bz2.compress(SERVER * 20 + LOG), "requests"),
        (gzip.compress(LOG)[:-20], "requests"),
        (SERVER * 2000 + LOG, "requests"),
        (json_record(client_id="\0" * 3000) + LOG, "requests"),
        (HANDLED * 3, "handled_requests"),
        (HANDLED * 2000 + LOG, "requests"),
        (SERVER, "broker"),
        (b"2026-11-21 02:45:09,935 INFO kafka.server.KafkaServer: started\n", "broker"),
        (
            b"[INFO] 2026-11-21 02:45:09,935 [main] org.apache.kafka.controller.QuorumController replay - done\n",
            "broker",
        ),
        (CLIENT, "other"),
        (GC, "other"),
        (b"", "other"),
        (b"\0" * 64 + b"x" * 4032 + LOG, "requests"),
        (b"x" + b"\0" * 64 + b"x" * 4031 + b"\n" + LOG, "requests"),
        (b"x" + b"\0" * 65 + b"x" * 70_000 + b"\n" + LOG, "other"),
        (b"x" + b"\0" * 64 + b"x" * 4031 + b"\0" + b"x" * 70_000 + b"\n" + LOG, "requests"),
        (SERVER.decode().encode("utf-16"), "broker"),
        (b"__CURSOR=s=1\nMESSAGE=another program's line\n\n", "other"),
        (("x\n" * 40_000 + LOG.decode()).encode("utf-16-be"), "other"),
        (gzip.compress(SERVER * 100)[:300], "broker"),
        (b"\0" * (5 << 20) + LOG, "requests"),
        (bytes(range(256)) * 100 + b"\0\0\0\0" * 100, "other"),
        (b"the words Completed request:{} alone are no request\n", "other"),
        (b"[2026-11-21 02:45:10,011] ERROR client id is x" + FORGED + b" (kafka.server.KafkaApis)\n", "broker"),
        (SERVER * 30000 + LOG, "broker"),
    ],
)
def test_it_tells_a_request_log_by_what_it_holds(save: Save, data: bytes, content: str) -> None:
    assert content_of(save(data)) == content


def test_it_looks_no_further_than_so_many_bytes(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recognition.LOOKED_AT == 4 << 20
    monkeypatch.setattr(recognition, "LOOKED_AT", len(SERVER))
    assert content_of(save(SERVER + LOG)) == "broker"
    monkeypatch.setattr(recognition, "FIRST_BLOCK", 1 << 10)
    monkeypatch.setattr(recognition, "LOOKED_AT", 4 << 20)
    assert content_of(save(HANDLED * 9 + LOG)) == "requests"
    assert content_of(save(HANDLED + SERVER * 9)) == content_of(save(SERVER * 9 + HANDLED)) == "handled_requests"


@pytest.mark.parametrize("words", ["Completed request:", "Handling request:"])
def test_it_finds_words_that_a_block_cuts(save: Save, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setattr(recognition, "FIRST_BLOCK", 128)
    line = (json_record() if words.startswith("C") else HANDLED).decode()
    content = "requests" if words.startswith("C") else "handled_requests"
    for before in range(60, 130):
        text = "x" * before + "\n" + line
        assert content_of(save(text.encode())) == content, before
        for encoding in ("utf-16-le", "utf-16-be"):
            with pytest.raises(UnreadableForm, match="UTF-16"):
                content_of(save(("\ufeff" + text).encode(encoding)))
