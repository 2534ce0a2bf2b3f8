"""Which library a connection without a name has by the others of its client: of one day, client id, principal and host."""

from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.protocol import api_key
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import judge_requests, log, named, request

Row = dict[str, Any]
DAY = 86_400
GO = (("LIST_OFFSETS", 1, 1), ("LIST_OFFSETS", 1, 2), ("API_VERSIONS", 0, 3))
AIOKAFKA = (("API_VERSIONS", 0, 1), ("METADATA", 5, 2), ("PRODUCE", 7, 3))
KGO = (("API_VERSIONS", 3, 0), ("FETCH", 12, 1))
JAVA_23 = (("API_VERSIONS", 2, 1), ("METADATA", 8, 2), ("FIND_COORDINATOR", 2, 0), ("METADATA", 8, 3))
KGO_10 = (("API_VERSIONS", 1, 0), ("METADATA", 5, 1), ("FETCH", 6, 2))
"""What franz-go sends that is pinned to 1.0, and Java of 1.0."""
THIN = (("FIND_COORDINATOR", 0, 1),)
"""What kafka-go sends, and old kafka-python."""
OTHER = (("API_VERSIONS", 2, 1), ("METADATA", 8, 2), ("FETCH", 4, 3), ("JOIN_GROUP", 1, 4))
"""What no library sends."""


def sent(what: tuple[tuple[str, int, int], ...], seconds: float, **given: Any) -> list[Row]:
    rows = []
    for place, (api, version, number) in enumerate(what):
        answered = {"error_code": 0, "request": "{}"} if api == "API_VERSIONS" else {}
        of_api = {"api_key": api_key(api), "api_name": api, "correlation_id": number}
        rows.append(request("?", seconds + place / 100, "METADATA", version, **of_api, **answered, **given))
    return rows


def stated(name: str, seconds: float) -> list[Row]:
    row, *_ = sent((("API_VERSIONS", 4, 0),), seconds)
    return [row | {"request": named(name, "4.1.1"), "client_software_name": name, "client_software_version": "4.1.1"}]


def go(seconds: float = 600, **given: Any) -> list[Row]:
    return sent(GO, seconds, **given)


REFUSED = [sent(KGO, 500)[0] | {"request": named("my lib", "1"), "error_code": 42}]
# A client's connections: the one that is looked at, others, and whether that is one of kafka-go.
CLIENTS: dict[str, tuple[list[Row], list[list[Row]], bool]] = {
    "alone": (sent(THIN, 500), [], False),
    "one that shows it": (sent(THIN, 500), [go()], True),
    "one that showed it": (sent(THIN, 700), [go()], True),
    "others that agree": (sent(THIN, 500), [go(), go(700)], True),
    "one that shows it, and one that shows nothing": (sent(THIN, 500), [go(), sent(OTHER, 700)], True),
    "one that states it, and one that shows it": (sent(THIN, 500), [go(), stated("kafka-go", 700)], True),
    "others of two libraries": (sent(THIN, 500), [go(), sent(AIOKAFKA, 700)], False),
    "one that states another library": (sent(THIN, 500), [go(), stated("sarama", 700)], False),
    "it states another library, and is refused": (REFUSED, [sent(KGO, 600)], False),
    "one that only states it": (sent(THIN, 500), [stated("kafka-go", 600)], False),
    "it behaves otherwise": (sent(OTHER, 500), [go()], False),
    "it fits other releases than those of the client": (sent(KGO_10, 500), [sent(JAVA_23, 600)], False),
    "another client id": (sent(THIN, 500), [go(client_id="its")], False),
    "no client id": (sent(THIN, 500, client_id=None), [go(client_id=None)], False),
    "an empty client id": (sent(THIN, 500, client_id=""), [go(client_id="")], False),
    "another host": (sent(THIN, 500), [go(remote_host="10.0.0.8")], False),
    "another principal": (sent(THIN, 500), [go(principal="User:other")], False),
    "another day": (sent(THIN, 500), [go(600 + DAY)], False),
}
CASES = {name: (name, rows) for name, (rows, *_) in CLIENTS.items()} | {
    f"{name}, {n}": (name, rows) for name, (_, others, _) in CLIENTS.items() for n, rows in enumerate(others)
}


@pytest.fixture(scope="module")
def probable(rules_session: Any) -> dict[str, Any]:
    """The view's row of each case."""
    rows = [
        row | {"connection_id": name, "client_id": case if row["client_id"] == "app" else row["client_id"]}
        for name, (case, of_case) in CASES.items()
        for row in of_case
    ]
    with on(rules_session):
        judged = computed(judge_requests(*log(rules_session, rows), Settings(), concerns()))
        found = computed(connections(judged, Settings(), concerns()))
    answer = collected(asked(rules_session, "probable_connections", connections=found))
    return {row["connection_id"]: row for row in answer}


SHOWN = [f"probable_{one}" for one in ("software_name", "versions_from", "versions_to", "basis", "evidence")]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_connection_that_shows_too_little_has_the_library_of_its_clients_others(
    probable: dict[str, Any], name: str
) -> None:
    row = probable[name]
    assert row["client_software_name"] == "unknown"
    own = {one["software_name"]: (one["versions_from"], one["versions_to"]) for one in row["candidate_software"]}
    evidence = ["client", "other connections of the client; its own requests fit"]
    expected = ["kafka-go", *own["kafka-go"], *evidence] if CLIENTS[name][2] else [None] * 5
    assert [row[one] for one in SHOWN] == expected


def test_what_a_connection_shows_itself_counts_only_if_no_other_of_its_client_contradicts(
    probable: dict[str, Any],
) -> None:
    alone = probable["another client id, 0"]
    assert (alone["probable_software_name"], alone["probable_basis"]) == ("kafka-go", "connection")
    silenced = ["others of two libraries, 0", "others of two libraries, 1", "no client id, 0", "an empty client id, 0"]
    assert [[probable[name][one] for one in SHOWN[:4]] for name in silenced] == [[None] * 4] * 4


def test_all_libraries_that_fit_are_listed_and_an_unknown_one_unless_the_connection_itself_shows_its_library(
    probable: dict[str, Any],
) -> None:
    """A program that is pinned, or was not measured, may send what only other libraries were measured to send."""
    assert "one that only states it, 0" not in probable
    names = {key: [one["software_name"] for one in row["candidate_software"]] for key, row in probable.items()}
    assert all(len(own) == len(set(own)) for own in names.values())
    assert len(names["alone"]) > 1
    by_itself = {key for key, own in names.items() if own and own[-1] != "unknown"}
    assert {key for key, row in probable.items() if row["probable_basis"] == "connection"} <= by_itself
    assert all(len(names[key]) == 1 for key in by_itself)
    others = [row["candidate_software"] for key, row in probable.items() if key not in by_itself and names[key]]
    assert {(own[-1]["versions_from"], own[-1]["versions_to"]) for own in others} == {(None, None)}
