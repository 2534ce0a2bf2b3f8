"""Questions about topics of the sample logs: all topics, one topic, unused ones, and losses at a release."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.questions import topics
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.losses import losses
from kafka_clientinfo.tables.spec import CLIENT
from tests.builders import NOON, json_record
from tests.report.pages import scope_of
from tests.views.topics.test_topic_usage import BUSY, FOLLOWER, ID, OTHER, busy, fetch, metadata, tables

TARGET = "4.0.1"
DAY = 86_400.0


@pytest.fixture(scope="module")
def scope(sample_warehouse: Path) -> Scope:
    return scope_of(sample_warehouse)


def produce(at: float, size: int, topic: str = "t", **given: Any) -> bytes:
    request = {"topicData": [{"name": topic, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}]}
    response = {"responses": [{"name": topic, "partitionResponses": [{"index": 0, "errorCode": 0}]}]}
    sent = {"api": "PRODUCE", "version": 9, "request": request, "response": response, "correlation_id": int(at * 10)}
    return json_record(at=at, **sent, **given)


def commit(at: float, **given: Any) -> bytes:
    request = {"groupId": "g", "topics": [{"name": "t", "partitions": []}]}
    sent = {"api": "OFFSET_COMMIT", "version": 8, "request": request, "response": {"topics": []}}
    return json_record(at=at, **sent, correlation_id=int(at * 10), **given)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """Two producers of t, one on two days; a client that only reads, one that only commits, one that does both."""
    p, q, c, d, e = (
        {"client_id": name, "connection": f"10.0.0.1:9092-10.0.0.2:4000{number}-0"}
        for number, name in enumerate("pqcde")
    )
    records = [
        produce(0, 10, **p), produce(1, 20, **p), produce(2, 4, principal="User:q", **q), fetch(3, topic="t", **c),
        commit(4, **c), commit(5, **d), commit(5.5, **d), fetch(6, topic="t", **e), fetch(7, topic="t", **e),
        produce(8, 7, topic="u", **e),
        fetch(9, ID, **e), metadata(10, ("u", OTHER), ("v", None)), produce(DAY, 33, **p),
        fetch(DAY + 1, topic="w", **e), fetch(DAY + 2, topic="w", **e),
    ]  # fmt: skip
    return Scope(tables(tmp_path_factory.mktemp("small"), b1=records))


@pytest.fixture(scope="module")
def unused(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """A topic that is used, and one that is not; and a fetch of a session that began before the log."""
    request = {"sessionId": 7, "sessionEpoch": 5, "topics": [], "forgottenTopicsData": []}
    response = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 7, "responses": []}
    of_session = json_record(api="FETCH", version=11, request=request, response=response)
    records = [of_session, *busy(("used", ID), ("t", OTHER)), metadata(7200, ("used", ID))]
    return Scope(tables(tmp_path_factory.mktemp("unused"), b1=records))


def since_noon(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with times as seconds after noon."""
    return tuple((value - NOON).total_seconds() if isinstance(value, datetime) else value for value in row)


def test_a_topics_figures_are_those_of_its_clients(small: Scope) -> None:
    assert list(map(since_noon, small.query(topics.ALL))) == [
        ("default", "t", 2, 3, 67, 15, 66, DAY, 7), ("default", "w", 0, 1, None, 10, None, None, DAY + 2),
        ("default", "u", 1, 0, 7, None, 6, 8, None), ("default", ID, 0, 1, None, 5, None, None, 9),
    ]  # fmt: skip


def test_the_brokers_own_topics_come_last(scope: Scope) -> None:
    rows = scope.query(topics.ALL).dicts()
    internal = [row["topic"].startswith("__") for row in rows if not (row["produced_bytes"] or row["fetched_bytes"])]
    assert set(internal) == {True, False}
    assert internal == sorted(internal)


def test_the_clients_of_a_topic_stand_by_operation_most_bytes_first(small: Scope) -> None:
    found = small.query(*topics.clients_of(small, "t")).dicts()
    columns = (
        "operation", "principal", "client_id", "hosts", "requests", "bytes", "bytes_a_day", "first_seen", "last_seen",
    )  # fmt: skip
    assert [since_noon(tuple(row[name] for name in columns)) for row in found] == [
        ("produce", "User:ANONYMOUS", "p", 1, 3, 63, 62, 0, DAY),
        ("produce", "User:q", "q", 1, 1, 4, 3, 2, 2),
        ("fetch", "User:ANONYMOUS", "e", 1, 2, 10, 9, 6, 7),
        ("fetch", "User:ANONYMOUS", "c", 1, 1, 5, 4, 3, 3),
        ("commit", "User:ANONYMOUS", "d", 1, 2, None, None, 5, 5.5),
        ("commit", "User:ANONYMOUS", "c", 1, 1, None, None, 4, 4),
    ]
    assert [row["requests"] for row in small.query(*topics.clients_of(small, ID)).dicts()] == [1]


def test_topics_of_clients_are_those_that_they_use(small: Scope) -> None:
    by_client = {client[2]: names for client, names in topics.topics_of_clients(small).items()}
    assert by_client == {"p": ["t"], "q": ["t"], "c": ["t"], "d": ["t"], "e": [ID, "t", "u", "w"]}
    few = {client[2]: names for client, names in topics.topics_of_clients(small, 2).items()}
    assert few == by_client | {"e": [ID, "t"]}


def test_a_topic_that_no_log_names_is_answered_with_the_nearest(small: Scope, scope: Scope) -> None:
    assert small.query(*topics.clients_of(small, "v")).dicts() == []  # only metadata names it
    for asked, name, says in (
        (small, "T", r"they name 'PV.*', 't', 'u', 'v', 'w'$"),
        (scope, "tt1", "did you mean t1"),
        (scope, "nothing like it at all", "they name .*__consumer_offsets"),
    ):
        with pytest.raises(ConfigError, match=f"names the topic '{name}'; {says}"):
            topics.clients_of(asked, name)


def test_filters_choose_clients(small: Scope) -> None:
    rows = Scope(small.tables, Filters(client="c")).query(topics.ALL).dicts()
    assert [(row["topic"], row["producers"], row["consumers"]) for row in rows] == [("t", 0, 1)]


def test_a_topic_loses_the_clients_that_the_target_refuses(scope: Scope) -> None:
    rows = losses(scope, TARGET).dicts()
    columns = ("producers_that_break", "producers", "consumers_that_break", "consumers", "bytes")
    columns += ("producers_that_may_break", "consumers_that_may_break")
    figures = {row["topic"]: tuple(row[name] for name in columns) for row in rows}
    assert (figures["t1"], figures["t-java-0.11.0.3"]) == ((1, 23, 2, 33, 59302, 0, 0), (0, 4, 1, 7, 0, 0, 0))

    def order(topic: str) -> tuple[int, int, int, str]:
        producers, _, consumers, _, size, *possible = figures[topic]
        return -producers - consumers, -sum(possible), -size, topic

    assert list(figures) == sorted(figures, key=order)


def test_coverage_is_said_by_cluster(tmp_path: Path, scope: Scope) -> None:
    (sentence,) = topics.coverage(scope)  # the sample's brokers ran at different times
    assert "no topic can be said to be unused" in sentence
    found = Scope(tables(tmp_path, b1=[*BUSY, FOLLOWER, metadata(7200, ("t", ID))]))
    sentence, missing = topics.coverage(found)
    assert "the answer rests on the logs of 1 broker ('b1'), which hold every request from" in sentence
    assert missing.endswith("no topic of their clusters can be said to be unused: default/broker 2.")


def test_coverage_says_that_a_log_of_one_client_id_may_be_filtered(tmp_path: Path) -> None:
    named = metadata(7200, ("t", ID), client_id="c")
    (sentence,) = topics.coverage(Scope(tables(tmp_path, b1=[*BUSY, named])), 1)
    assert "They show one client id only" in sentence


def test_no_filter_on_clients_or_times_makes_a_used_topic_unused(unused: Scope) -> None:
    for filters in (Filters(since=datetime(2100, 1, 1, tzinfo=UTC)), Filters(client="nobody")):
        filtered = Scope(unused.tables, filters)
        assert [row["topic"] for row in filtered.query(topics.UNUSED).dicts()] == ["t"]
        assert filtered.query(topics.ALL).dicts() == []
        assert topics.coverage(filtered) == topics.coverage(unused)


def test_unresolved_fetches_are_counted_in_a_sentence(unused: Scope, small: Scope) -> None:
    begins = "1 fetch of 1 client id belongs to fetch sessions that began before the log, or of which it lacks fetches "
    assert str(topics.unresolved(unused)).startswith(begins)
    assert topics.unresolved(small) is None
    assert topics.coverage(unused)[-1] == topics.unresolved(unused)


def test_the_command_answers_the_same(scope: Scope, sample_warehouse: Path, ask: Any) -> None:
    line = ("--warehouse", sample_warehouse, "--json")
    rows = scope.query(topics.ALL).dicts()
    assert [row["topic"] for row in ask("topics", *line).json] == [row["topic"] for row in rows]
    clients = ask("topics", "t1", *line).json
    of_operation = {name: {tuple(row[c] for c in CLIENT) for row in clients if row["operation"] == name} for name in
                    ("produce", "fetch", "commit")}  # fmt: skip
    (t1,) = (row for row in rows if row["topic"] == "t1")
    assert t1["producers"] == len(of_operation["produce"])
    assert t1["consumers"] == len(of_operation["fetch"] | of_operation["commit"])
    assert t1["produced_bytes"] == sum(row["bytes"] for row in clients if row["operation"] == "produce")
    assert ask("topics", "--unused", "--cluster", "default", *line).json == []


@pytest.mark.parametrize("words", [["--unused", "t1"], ["--unused", "--since", "7d"], ["no such topic"]])
def test_wrong_usage_is_refused(words: list[str], sample_warehouse: Path, ask: Any) -> None:
    answer = ask("topics", *words, "--warehouse", sample_warehouse)
    assert (answer.code, "Traceback" in answer.err) == (2, False)


def test_upgrade_by_topic_lists_losses(
    scope: Scope, sample_warehouse: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kafka_clientinfo.commands.upgrade.unresolved", lambda scope: "5 fetches are of no known topic."
    )
    line = ("upgrade", "--target", TARGET, "--by", "topic", "--warehouse", sample_warehouse)
    answer, text = ask(*line, "--json"), ask(*line)
    assert (answer.code, text.code) == (3, 3)
    assert [row["topic"] for row in answer.json["by_topic"]] == [row["topic"] for row in losses(scope, TARGET).dicts()]
    assert "Topics that lose a producer or a consumer" in text.out
    assert "5 fetches are of no known topic." in answer.json["cannot_tell"]  # these topics may lose a client too


def test_owners_are_matched_by_topic(sample_warehouse: Path, tmp_path: Path, ask: Any) -> None:
    (tmp_path / "o.toml").write_text("[[owners]]\nowner = 'One'\ntopics = ['t1']\n")
    line = ("--warehouse", sample_warehouse, "--json", "--owners", tmp_path / "o.toml")
    rows = ask("topics", *line).json
    assert {row["topic"]: row["owner"] for row in rows if row["topic"] == "t1" or row["owner"]} == {"t1": "One"}
    assert any(row["owners"] == ["One"] for row in ask("topics", "t1", *line).json)


def test_hostile_names_of_topics_have_no_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [
        "\x1b[2J", "'; DROP TABLE topic_usage; --", "</script><script>alert(1)</script>", "a\nb", "\u202e", "{x}",
        "=1+1",
    ]  # fmt: skip
    log = tmp_path / "b1" / "kafka-request.log"
    log.parent.mkdir()
    log.write_bytes(b"".join(fetch(number, topic=name) for number, name in enumerate(names)))
    assert cli.main(["scan", str(log), "--topic", names[1]]) == 0
    assert not {"\x1b", "\u202e"} & set(capsys.readouterr().out)
