"""What answers say of the logs: how many connections are seen from their beginning, and who logs at INFO."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.trust import (
    brokers_without_logs,
    limits_of_logs,
    missing_hours,
    partly_logged,
    releases_of_brokers,
    unseen_starts,
)
from tests.frames import at
from tests.report.tables_on_disk import write_warehouse

BY_BROKER = "By broker: the view what_the_log_shows."
NOBODY = "No connection of a client is in what was asked for, so that this is no proof that all is well."
INFO = (
    "Brokers that log at INFO: c/quiet. There only requests with deprecated versions are logged: whoever is named is "
    "certain, but clients that are fine are not counted."
)


def scope(folder: Path, starts: Counter[str], *info_brokers: str, filters: Filters | None = None) -> Scope:
    """A warehouse with connections of client `a` in cluster c, and one of a broker in it and of client `b` in d."""
    common = {"cluster": "c", "broker": "loud", "role": "client", "client_id": "a", "principal": "User:p"}
    times = {"opened_at": at(0), "last_request_at": at(60)}
    rows = [{**common, **times, "start": start} for start in starts.elements()]
    rows.append({**common, **times, "role": "broker", "start": "before_log"})
    rows.append({**common, **times, "cluster": "d", "client_id": "b", "start": "observed"})
    usage = [{**common, "broker": "loud", "first_at": at(0), "last_at": at(60), "info_only": False}]
    usage += [
        {**common, "broker": name, "first_at": at(0), "last_at": at(60), "info_only": True} for name in info_brokers
    ]
    tables = local_tables(str(write_warehouse(folder / "w", {"connections": rows, "api_usage": usage})))
    assert tables is not None
    return Scope(tables, filters or Filters())


@pytest.mark.parametrize(
    ("starts", "sentence"),
    [
        ({"before_log": 2, "hidden_by_sasl": 1, "observed": 1200},
         "The log shows 1,201 of 1,204 connections of clients from their beginning; 2 were open before it and "
         "1 began with SASL, which it hides."),
        ({"before_log": 1}, "The log shows 1 of 2 connections of clients from their beginning; 1 was open before it."),
        ({"hidden_by_sasl": 3, "observed": 1},
         "The log shows 2 of 5 connections of clients from their beginning; 3 began with SASL, which it hides."),
    ],
)  # fmt: skip
def test_connections_whose_beginning_is_not_seen_are_counted(
    tmp_path: Path, starts: dict[str, int], sentence: str
) -> None:
    assert limits_of_logs(scope(tmp_path, Counter(starts))) == [sentence, BY_BROKER]


def test_hours_that_a_brokers_log_lacks_and_others_have_are_named(tmp_path: Path) -> None:
    """Of Amazon MSK's files the path has the hour, which may hold a moment's requests or none."""
    msk, hour = "s3://b/{}/Broker-{}_02-05_f1.log.gz", 3_600
    files = [
        ("c", "whole", "a", at(0), at(9 * hour)),
        ("c", "ends early", "a", at(0), at(3 * hour)),
        ("c", "has a gap", "a", at(0), at(2 * hour)), ("c", "has a gap", "b", at(4 * hour), at(9 * hour)),
        ("c", "in time", "a", at(600), at(9 * hour - 600)),
        ("alone", "b", "a", at(0), at(60)), ("alone", "b", "b", at(9 * hour), at(9 * hour + 1)),
        ("msk", "1", msk.format("2026-11-24-02", 1), None, None), ("msk", "1", msk.format("2026-99-99-03", 1), None, None),
        ("msk", "2", msk.format("2026-11-24-02", 2), None, None), ("msk", "2", msk.format("2026-11-25-02", 2), None, None),
    ]  # fmt: skip
    columns = ("cluster", "broker", "path", "first_logged_at", "last_logged_at")
    rows = [dict(zip(columns, file, strict=True)) for file in files]
    tables = local_tables(str(write_warehouse(tmp_path / "w", {"ingested_files": rows})))
    assert tables is not None

    def lacks(cluster: str, **within: timedelta) -> str:
        text = missing_hours(Scope(tables, Filters(cluster=cluster)), **within) or ""
        return text.removeprefix("No log was read of ").partition(", while those of other brokers were")[0]

    early, gap = (
        f"from {at(a * hour):%Y-%m-%d %H:%M} to {at(b * hour):%Y-%m-%d %H:%M} UTC" for a, b in ((3, 9), (2, 4))
    )
    assert lacks("c") == f"c/ends early {early}, of c/has a gap {gap}"
    assert lacks("c", within=timedelta(hours=1)) == f"c/ends early {early}"
    assert lacks("alone") == ""
    assert lacks("msk") == "msk/1 from 2026-11-24 03:00 to 2026-11-25 03:00 UTC"


MASKED = {
    "the broker's end": (
        "INTERNAL_IP-10.20.1.5:44444-7", "10.20.1.5", "1 has the broker's address masked, and their clients and hosts are counted by the client's."
    ),
    "both ends": (
        "INTERNAL_IP-INTERNAL_IP-5", None,
        "1 cannot be told apart, as it masks their addresses (each stands for a client id, software and principal).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKED)
def test_only_a_masked_client_cannot_be_told_apart(tmp_path: Path, name: str) -> None:
    connection_id, host, text = MASKED[name]
    row = {"cluster": "c", "role": "client", "start": "before_log", "connection_id": f"{connection_id}#0123456789ab"}
    tables = local_tables(str(write_warehouse(tmp_path / "w", {"connections": [row | {"remote_host": host}]})))
    assert tables is not None
    assert unseen_starts(Scope(tables)) == f"The log shows 0 of 1 connections of clients from their beginning; {text}"


def test_nothing_is_said_if_the_log_shows_all(tmp_path: Path) -> None:
    assert limits_of_logs(scope(tmp_path, Counter({"observed": 2}))) == []


def test_a_log_at_info_is_named_also_with_a_filter_that_leaves_no_request_of_its_broker(tmp_path: Path) -> None:
    chosen = Filters(cluster="c", client="nobody", since=at(3600))
    assert limits_of_logs(scope(tmp_path, Counter({"before_log": 1}), "quiet", filters=chosen)) == [NOBODY, INFO]


PARTLY = (
    "Not every request is in the logs of c/loud ({}): a broker may have been at INFO or down, the log filtered, or a part of it "
    "missing. Clients may be missing, or look fine."
)
TIMES = {
    "all of the time": ([(0, 3600)], None),
    "but for its start": ([(59, 3600)], None),
    "DEBUG, then INFO": ([(0, 600)], "complete only from 2026-11-21 02:00:00 to 2026-11-21 02:10:00"),
    "INFO, then DEBUG": ([(600, 3600)], "complete only from 2026-11-21 02:10:00 to 2026-11-21 03:00:00"),
    "a hole": (
        [(0, 600), (720, 3600)],
        "complete only from 2026-11-21 02:00:00 to 2026-11-21 02:10:00 and from 2026-11-21 02:12:00 to 2026-11-21 03:00:00",
    ),
    "filtered": ([], "at no time complete"),
}


@pytest.mark.parametrize("name", TIMES)
def test_a_log_that_holds_some_of_the_requests_only_is_named(tmp_path: Path, name: str) -> None:
    periods, text = TIMES[name]
    used = {"cluster": "c", "broker": "loud", "first_at": at(0), "last_at": at(3600), "info_only": False}
    whole = [{"whole_from": at(first), "whole_until": at(last), "max_idle_ms": 600_000} for first, last in periods]
    file = {"file_id": "f", "cluster": "c", "broker": "loud", "path": "p", "ingested_at": at(9999)}
    rows = {"api_usage": [used], "ingested_files": [file | {"log_coverage": {"starts": [], "whole_periods": whole}}]}
    tables = local_tables(str(write_warehouse(tmp_path / "w", rows)))
    assert tables is not None
    assert partly_logged(Scope(tables)) == (None if text is None else PARTLY.format(text))


def test_only_the_clients_in_scope_count(tmp_path: Path) -> None:
    starts = Counter({"before_log": 1})
    assert limits_of_logs(scope(tmp_path / "d", starts, "quiet", filters=Filters(cluster="d"))) == []
    assert limits_of_logs(scope(tmp_path / "b", starts, filters=Filters(client="b"))) == []


@pytest.mark.parametrize(
    ("releases", "text"),
    [
        ({"c": ["3.9"] * 3}, "Release of the brokers of c: 3.9."),
        ({"c": ["3.9", "3.9", "4.0.1"]}, "Release of the brokers of c: mixed: 3.9; b2 is 4.0.1."),
        ({"c": ["3.9", "3.9.1"]}, "Release of the brokers of c: 3.9; b1 is 3.9.1."),  # may be the same
        ({"c": ["3.3 to 3.4", "3.4.1"]}, "Release of the brokers of c: 3.3 to 3.4; b1 is 3.4.1."),
        ({"c": ["3.1", "3.10"]}, "Release of the brokers of c: mixed: 3.1; b1 is 3.10."),
        ({"c": [None, None, "4.4.0"], "d": [None]}, "Release of the brokers of c: 4.4.0; b0, b1 are unknown. Release of the brokers of d: unknown."),
        ({"c": ["x"] * 6 + ["4.0"] * 5}, "Release of the brokers of c: mixed: x; b6, b7, b8 and 2 more are 4.0."),
        ({"\x1b": ["3.9"]}, "Release of the brokers of \ufffd: 3.9."),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_releases_of_brokers_are_one_sentence_a_cluster(releases: dict[str, list[str | None]], text: str) -> None:
    rows = [
        {"cluster": cluster, "broker": f"b{number}", "release": release}
        for cluster, its in releases.items()
        for number, release in enumerate(its)
    ]
    assert releases_of_brokers(rows) == text


def test_of_many_clusters_the_first_are_named() -> None:
    text = releases_of_brokers([{"cluster": f"c{n:02}", "broker": "b", "release": "3.9"} for n in range(52)])
    assert text.count("Release of") == 50
    assert text.endswith(" And 2 more clusters: the view broker_releases.")


FETCHERS = {
    "one log": ({"a": "2@a:1 3@a:1"}, "c/broker 2, c/broker 3"),
    "numbers in order": ({"a": "11@a:1 3@a:1 2@a:1"}, "c/broker 2, c/broker 3, c/broker 11"),
    "two logs of three brokers": ({"a": "2@a:1 3@a:1", "b": "1@b:1 3@b:1"}, "c/broker 3"),
    "all logs": ({"a": "2@a:1 3@a:1", "b": "1@b:1 3@b:1", "d": "1@a:2 2@a:2"}, None),
    "a log in which nobody fetches may be its own": ({"a": "2@a:1 3@a:1", "b": ""}, None),
    "one log of several brokers": ({"all": "1@a:1 2@a:1 2@b:1 3@b:1"}, None),
    "one log of several brokers beside another": ({"all": "1@a:1 2@a:1 2@b:1 3@b:1", "b": "3@a:2"}, None),
    "masked addresses": ({"a": "2@10.x.x.x:9092", "b": "2@IP"}, None),
    "a number of any length": ({"a": f"{'9' * 5000}@a:1"}, f"c/broker {'9' * 70}…"),
}
"""Fetchers in each log, as the number of their broker and the address at which they fetch; the brokers without a log."""


@pytest.mark.parametrize("name", FETCHERS)
def test_a_broker_that_fetches_from_those_of_all_logs_has_none(tmp_path: Path, name: str) -> None:
    logs, names = FETCHERS[name]
    of_cluster = {"cluster": "c", "ingested_at": at(0), "path": "p"}
    files = [of_cluster | {"file_id": log, "broker": log} for log in logs]
    fetching = [(log, *one.split("@")) for log, text in logs.items() for one in text.split()]
    connections = [
        {"cluster": "c", "broker": log, "role": "broker", "client_id": f"broker-{node}-fetcher-0"}
        | {"connection_id": f"{address}-10.x.x.x:1-{n}" if "x.x" in address else f"{address}-h:1-{n}"}
        for n, (log, node, address) in enumerate(fetching)
    ]
    connections.append(
        {
            "cluster": "c",
            "broker": "a",
            "role": "client",
            "client_id": "broker-7-fetcher-0",
            "connection_id": "a:1-h:1-0",
        }
    )
    written: dict[str, list[dict[str, Any]]] = {
        "connections": connections,
        "ingested_files": files,
        "topic_mentions": [],
    }
    tables = local_tables(str(write_warehouse(tmp_path / "w", written)))
    assert tables is not None
    assert brokers_without_logs(Scope(tables)) == names
    assert brokers_without_logs(Scope(tables, Filters(cluster="other"))) is None


LISTED = {
    "as many as logs": ("ab", {1: 0, 2: 0}, None),
    "more than logs": ("ab", {1: 0, 2: 0, 11: 5}, "c/1 of the brokers 1, 11, 2"),
    "more only with one that is gone": ("ab", {1: 90_000, 2: 90_000, 3: 0}, None),
    "fewer, as a controller's log is there": ("abd", {1: 0, 2: 0}, None),
}
"""The logs of a cluster, the brokers in answers to Metadata with when the last one listed each, and those without a log."""


@pytest.mark.parametrize("name", LISTED)
def test_answers_list_more_brokers_than_there_are_logs(tmp_path: Path, name: str) -> None:
    logs, brokers, names = LISTED[name]
    files = [{"cluster": "c", "ingested_at": at(0), "path": "p", "file_id": log, "broker": log} for log in logs]
    mentioned = [
        {
            "cluster": "c",
            "broker": "a",
            "file_id": "a",
            "kind": "broker",
            "topic": str(node),
            "row_number": node,
            "first_at": at(0),
            "last_at": at(last),
        }
        for node, last in brokers.items()
    ]
    mentioned.append(mentioned[0] | {"kind": "name", "topic": "a topic", "row_number": 99})
    written = {"connections": [], "ingested_files": files, "topic_mentions": mentioned}
    tables = local_tables(str(write_warehouse(tmp_path / "w", written)))
    assert tables is not None
    assert brokers_without_logs(Scope(tables)) == names
