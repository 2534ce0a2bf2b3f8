"""Log records that clients forge inside the texts they send; also where the connection looks like a broker's."""

from typing import Any

import pytest

from tests.concerns.cases import Case, Judged, assert_case, assert_message
from tests.frames import request

FORGED = "x\n[2026-11-21 02:00:00,000] DEBUG "


def sends(*forged_lines: int | None, client_id: str | None = FORGED, **given: Any) -> list[dict[str, Any]]:
    """Requests whose texts hold so many beginnings of log records."""
    return [
        request("?", n, client_id=client_id if lines else None, forged_lines=lines, **given)
        for n, lines in enumerate(forged_lines)
    ]


CASES: dict[str, Case] = {
    "a client": Case(sends(0, 2, 1), {"role": "client"}, {"log_forging": 2}),
    "like a broker": Case(sends(0, 2, api="FETCH", replica_id=2), {"role": "broker"}, {"log_forging": 1}),
    "forwarding": Case(sends(2, is_forwarded=True), {"role": "forwarding"}),
    "nobody": Case(sends(0, None)),
}
MESSAGES = {"log_forging": "2 forged log lines in {} v0 with client id 'x\ufffd[2026-11-21 02:00:00,000] DEBUG ' from 10.0.0.9"}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_names_who_forges_lines(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "log_forging")


@pytest.mark.parametrize(("name", "api"), [("a client", "METADATA"), ("like a broker", "FETCH")])
def test_its_violation_quotes_the_client_id_without_its_line_break(judged: Judged, name: str, api: str) -> None:
    assert_message(judged, name, "log_forging", MESSAGES["log_forging"].format(api))
    assert judged.violations[name]["log_forging"]["example"]["correlation_id"] == 1
