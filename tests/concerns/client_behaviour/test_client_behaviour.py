"""How connections begin, in words."""

import pytest

from tests.concerns.cases import Judged, Row, sent

ASKED = "API_VERSIONS 3 #0"
SASL = {"security_protocol": "SASL_SSL"}
# the requests, and what a connection with them begins with
BEGINS: dict[str, tuple[list[Row], str]] = {
    "asks for versions only": (sent(ASKED), "3 first 0"),
    "falls back": (sent(ASKED, "API_VERSIONS 0 #1", "METADATA 5 #2"), "3,0 first 0 METADATA 5"),
    "asks the same again": (sent(ASKED, "API_VERSIONS 3 #1", "API_VERSIONS 0 #2"), "3,0 first 0"),
    "tries many versions": (
        sent(*(f"API_VERSIONS {version} #{number}" for number, version in enumerate((5, 4, 3, 2, 1, 0)))),
        "5,4 first 0"),
    "asks for versions later": (sent("METADATA 1 #1", "API_VERSIONS 0 #2"), "0 later 1 METADATA 1"),
    "asks for no versions": (sent("FETCH 4 #1", "FETCH 4 #2"), "none later 1 FETCH 4"),
    "numbers go on from another connection": (sent("API_VERSIONS 3 #7", "PRODUCE 9 #8"), "3 first more PRODUCE 9"),
    "a request was numbered before the handshake": (sent("API_VERSIONS 3 #7, JOIN_GROUP 9 #6, HEARTBEAT 4 #8"),
        "3 first more overtaken JOIN_GROUP 9 HEARTBEAT 4"),
    "a negative number": (sent("API_VERSIONS 3 #0", "METADATA 9 #-1"), "3 first 0 METADATA 9"),
    # A log that was sampled or filtered: another request may have come first.
    "no number for the first request": (sent(ASKED, "METADATA 9 #2"), ""),
    "no number between handshakes": (sent(ASKED, "API_VERSIONS 0 #2", "METADATA 9 #3"), ""),
    "no number before the second request": (sent(ASKED, "METADATA 9 #1", "METADATA 9 #2", "FETCH 4 #4"),
        "3 first 0 METADATA 9"),
    "the second request is of the same kind": (sent(ASKED, "METADATA 9 #1", "METADATA 9 #2", "FETCH 12 #3"),
        "3 first 0 METADATA 9 FETCH 12"),
    "the second request has another version": (sent("API_VERSIONS 0 #1", "METADATA 0 #2", "METADATA 1 #3"),
        "0 first 1 METADATA 0 METADATA 1"),
    "SASL hides how it begins": (sent("API_VERSIONS 3 #3", "METADATA 9 #4", **SASL), "3 first more after SASL METADATA 9"),
    # The log may begin later than the connection.
    "SASL hides whether it begins": (sent("METADATA 9 #3", **SASL), ""),
    "SASL at INFO, where older requests only are logged": (sent("PRODUCE 2 #3", log_level="INFO", **SASL), ""),
    "SASL again is no work": (sent(ASKED, "SASL_HANDSHAKE 1 #1", "SASL_AUTHENTICATE 2 #2", "METADATA 9 #3"),
        "3 first 0 METADATA 9"),
    "what comes late is not the beginning": (
        sent(ASKED, *(f"METADATA 9 #{number}" for number in range(1, 16)), "FETCH 12 #16"), "3 first 0 METADATA 9"),
}  # fmt: skip
CASES = {name: rows for name, (rows, _) in BEGINS.items()}


@pytest.mark.parametrize("name", BEGINS)
def test_a_connection_says_how_it_begins(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    parts = [row[column] for column in ("handshake", "first_work", "second_work")]
    assert " ".join(part for part in parts if part) == BEGINS[name][1]


def test_what_began_before_the_log_says_nothing(judged: Judged) -> None:
    (row,) = judged.connections["opens the log"]
    assert (row["handshake"], row["asked_versions"], row["first_work"]) == (None, None, None)
