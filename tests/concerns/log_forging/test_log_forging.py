"""Log records that clients forge inside the texts they send; also where the connection looks like a broker's."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from tests.builders import request_header_struct_record
from tests.concerns.cases import Judged, assert_case, assert_messages, case
from tests.frames import request
from tests.scan.comparing import in_arrow
from tests.scan.golden import in_memory
from tests.wrapping import wrap

FORGER = "10.0.0.1:9092-10.0.0.9:4-0"
FORGED = "x\n[2026-11-21 02:00:00,000] DEBUG "


def sends(*forged_lines: int | None, client_id: str | None = FORGED, **given: Any) -> list[dict[str, Any]]:
    """Requests whose texts hold so many beginnings of log records."""
    return [
        request("?", n, client_id=client_id if lines else None, forged_lines=lines, **given)
        for n, lines in enumerate(forged_lines)
    ]


CASES = {
    "a client": case(sends(0, 2, 1), role="client", broken={"log_forging": 2}),
    "like a broker": case(sends(0, 2, api="FETCH", replica_id=2), role="broker", broken="log_forging"),
    "forwarding": case(sends(2, is_forwarded=True), role="forwarding"),
    "nobody": case(sends(0, None)),
}  # fmt: skip
MESSAGE = "forged log lines: 2, in {} v0 with client id 'x\ufffd[2026-11-21 02:00:00,000] DEBUG ' from 10.0.0.9"


@pytest.mark.parametrize("name", CASES)
def test_it_names_who_forges_lines(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "log_forging")


@pytest.mark.parametrize(("name", "api"), [("a client", "METADATA"), ("like a broker", "FETCH")])
def test_its_violation_quotes_the_client_id_without_its_line_break(judged: Judged, name: str, api: str) -> None:
    assert_messages(judged, {"log_forging": (name, MESSAGE.format(api))})
    assert judged.violations[name]["log_forging"]["example"]["correlation_id"] == 1


KILLED = {
    f"{pattern} {wrapper} {name}": (pattern, wrapper, between)
    for pattern, wrapper in (("kafka", "none"), ("kafka", "cri"), ("thread_first", "none"))
    for name, between in (("same line", b""), ("next line", b"\n"), ("banner", b"\n===> User\nuid=1000(appuser)\n"))
}
"""Layouts and wrappers, and what follows the half of a record that a killed broker leaves."""


@pytest.fixture(scope="module")
def forgers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The connections that break the rule, of a killed broker for each case."""
    folder = tmp_path_factory.mktemp("killed")
    for number, (name, (pattern, wrapper, between)) in enumerate(KILLED.items()):
        line = wrap(request_header_struct_record(client_id="innocent", correlation_id=number), pattern, wrapper)
        torn = b"".join(line[:at] + between + line * 2 for at in range(60, line.find(b"totalTime"), 60))
        forger = request_header_struct_record(client_id=FORGED + "Completed request:x", connection=FORGER)
        (folder / name).mkdir()
        log = line * 9 + torn + wrap(forger, pattern, wrapper) + line
        (folder / name / "kafka-request.log").write_bytes(log)
    reading = Reading([str(folder)], Settings(), with_servers=False)
    tables = in_memory(list(reading.parts()), reading.files, Settings())
    assert not reading.problems
    found: dict[str, list[str]] = {}
    for row in in_arrow(tables, "violations").to_pylist():
        if row["rule"] == "log_forging":
            found.setdefault(row["broker"], []).append(row["connection_id"])
    return found


def test_a_killed_broker_accuses_nobody_and_a_client_that_forges_is_named(forgers: dict[str, list[str]]) -> None:
    assert forgers == {name: [FORGER] for name in KILLED}
