"""What answers say of the logs: how many connections are seen from their beginning, and who logs at INFO."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.filters import Filters
from kafka_clientinfo.questions.trust import (
    asked,
    brokers_without_logs,
    info_logs,
    limits_of_logs,
    missing_hours,
    partly_logged,
    releases_of_brokers,
    unseen_starts,
)
from kafka_clientinfo.tables.spec import EVIDENCE
from tests.frames import at
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse

RUN = ("began_at", "ended_at", "began_offset", "ended_offset")
NOBODY = "No connection of a client is in what was asked for, so that this is no proof that all is well."
INFO = (
    "Brokers that log at INFO: info/quiet. There only requests with deprecated versions are logged: whoever is named is "
    "certain, but clients that are fine are not counted."
)
MASKED_BROKER, MASKED_BOTH = "INTERNAL_IP-10.20.1.5:44444-7", "INTERNAL_IP-INTERNAL_IP-5"
HOURS = {
    "ends early": [(0, 9), (0, 3)], "has a gap": [(0, 9), (0, 2), (4, 9)], "in time": [(0, 9), (1 / 6, 53 / 6)],
    "alone": [(0, 1 / 60), (9, 9.001)],
}  # fmt: skip
"""Hours of a broker's first file, and of those of another one, but for "alone", which are both of one."""
MSK = (("1", "2026-11-24-02"), ("1", "2026-99-99-03"), ("2", "2026-11-24-02"), ("2", "2026-11-25-02"))
STARTS: dict[str, tuple[dict[str, int], str]] = {
    "both": (
        {"before_log": 2, "hidden_by_sasl": 1, "observed": 1201},
        "1,201 of 1,204 connections of clients from their beginning; 2 were open before it and 1 began with SASL, which it hides.",
    ),
    "before": ({"before_log": 1, "observed": 1}, "1 of 2 connections of clients from their beginning; 1 was open before it."),
    "sasl": (
        {"hidden_by_sasl": 3, "observed": 2}, "2 of 5 connections of clients from their beginning; 3 began with SASL, which it hides.",
    ),
    MASKED_BROKER: (
        {"before_log": 1}, "0 of 1 connections of clients from their beginning; 1 has the broker's address masked, and their clients "
        "and hosts are counted by the client's.",
    ),
    MASKED_BOTH: (
        {"before_log": 1}, "0 of 1 connections of clients from their beginning; 1 cannot be told apart, as it masks their addresses "
        "(each stands for a client id, software and principal).",
    ),
}  # fmt: skip
"""Connections of a cluster by how they start, and the sentence."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster for each case: of starts, of a log at INFO beside, and of hours."""
    common = {"broker": "loud", "role": "client", "client_id": "a", "principal": "User:p", "opened_at": at(0)}
    common["last_request_at"] = at(60)
    starts = {cluster: its for cluster, (its, _) in STARTS.items()} | {
        "info": {"before_log": 1},
        "all": {"observed": 2},
    }
    rows = []
    for cluster, its in starts.items():
        masked = "#0123456789ab" if cluster in (MASKED_BROKER, MASKED_BOTH) else ""
        id_and_host = {"connection_id": f"{cluster}{masked}", "remote_host": None if cluster == MASKED_BOTH else "h"}
        rows += [
            common | id_and_host | {"cluster": cluster, "start": one}
            for one, number in its.items()
            for _ in range(number)
        ]
        rows.append(common | {"cluster": cluster, "role": "broker", "start": "before_log"})
    rows.append(common | {"cluster": "info", "client_id": "b", "start": "observed"})
    usage = [common | {"cluster": name, "first_at": at(0), "last_at": at(60), "info_only": False} for name in starts]
    usage.append(usage[0] | {"cluster": "info", "broker": "quiet", "info_only": True})
    files = [
        {"cluster": cluster, "broker": str(int(number > 0 and cluster != "alone")), "path": f"{number}"}
        | {"first_logged_at": at(begin * 3600), "last_logged_at": at(end * 3600)}
        for cluster, spans in HOURS.items()
        for number, (begin, end) in enumerate(spans)
    ]
    files += [
        {"cluster": "msk", "broker": broker, "path": f"s3://b/{hour}/Broker-{broker}_02-05_f1.log.gz"}
        for broker, hour in MSK
    ]
    tables = {"connections": rows, "api_usage": usage, "ingested_files": files}
    return write_warehouse(tmp_path_factory.mktemp("trust") / "w", tables)


@pytest.mark.parametrize("cluster", STARTS)
def test_connections_whose_beginning_is_not_seen_are_counted(root: Path, cluster: str) -> None:
    sentence = f"The log shows {STARTS[cluster][1]}"
    assert unseen_starts(scope_of(root, cluster=cluster)) == sentence
    assert limits_of_logs(scope_of(root, cluster=cluster)) == [sentence, "By broker: the view what_the_log_shows."]


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        ({"cluster": "all"}, []),
        ({"cluster": "info", "client": "b"}, [INFO, "By broker: the view what_the_log_shows."]),
        ({"cluster": "info", "client": "nobody", "since": at(3600)}, [NOBODY, INFO]),
    ],
    ids=["all is shown", "clients in scope count, and all brokers", "also if no request of the broker is left"],
)
def test_only_the_clients_in_scope_count(root: Path, given: dict[str, Any], sentences: list[str]) -> None:
    assert limits_of_logs(scope_of(root, **given)) == sentences


@pytest.mark.parametrize(
    ("cluster", "within", "broker", "begin", "end"),
    [
        ("ends early", 999, "1", "2026-11-21 05:00", "2026-11-21 11:00"),
        ("ends early", 1, "1", "2026-11-21 05:00", "2026-11-21 11:00"),
        ("has a gap", 999, "1", "2026-11-21 04:00", "2026-11-21 06:00"),
        ("has a gap", 1, None, "", ""),
        ("in time", 999, None, "", ""),
        ("alone", 999, None, "", ""),
        ("msk", 999, "1", "2026-11-24 03:00", "2026-11-25 03:00"),
    ],
)
def test_hours_that_a_brokers_log_lacks_and_others_have_are_named(
    root: Path, cluster: str, within: int, broker: str | None, begin: str, end: str
) -> None:
    """Of Amazon MSK's files the path has the hour, which may hold a moment's requests or none."""
    text = missing_hours(scope_of(root, cluster=cluster), timedelta(hours=within))
    lacks = f"No log was read of {cluster}/{broker} from {begin} to {end} UTC"
    assert (text or "").partition(", while those of other brokers were")[0] == (lacks if broker else "")


TIMES = {
    "all of the time": ([(0, 3600)], None),
    "but for its start": ([(59, 3600)], None),
    "DEBUG, then INFO": ([(0, 600)], "complete only from 2026-11-21 02:00:00 to 2026-11-21 02:10:00"),
    "INFO, then DEBUG": ([(600, 3600)], "complete only from 2026-11-21 02:10:00 to 2026-11-21 03:00:00"),
    "a hole": (
        [(0, 600), (720, 3600)],
        "complete only from 2026-11-21 02:00:00 to 2026-11-21 02:10:00 and in 1 more period",
    ),
    "filtered": ([], "at no time complete"),
    "a short log that is filtered": ([], "at no time complete", 44),
    "a short hole of a short log": (
        [(0, 600), (633, 660)],
        "complete only from 2026-11-21 02:00:00 to 2026-11-21 02:10:00 and in 1 more period",
        660,
    ),
    "one of less than a 20th": ([(0, 600), (632, 660)], None, 660),
    "one request": ([], None, 0),
}
"""The periods of a log, in seconds, which of them are named, and its end if that is not an hour after its beginning."""
UNREAD: dict[str, tuple[list[int], str | None]] = {
    "before and after all requests": ([0, 950], None),
    "among requests": ([50, 60], "2"),
    "in a silence": ([150], "1; no request from 2026-11-21 02:00:10 to 2026-11-21 02:00:15"),
    "in both": ([150, 160, 500], "3; no request from 2026-11-21 02:00:10 to 2026-11-21 02:00:15"),
}
"""Where records of a log cannot be read, which has requests at 10 to 100 and, after five seconds of silence, 200 to 900."""
FETCHERS = {
    "one log": ({"a": "2@a:1 3@a:1"}, ["broker 2", "broker 3"]),
    "numbers in order": ({"a": "11@a:1 3@a:1 2@a:1"}, ["broker 2", "broker 3", "broker 11"]),
    "two logs of three brokers": ({"a": "2@a:1 3@a:1", "b": "1@b:1 3@b:1"}, ["broker 3"]),
    "all logs": ({"a": "2@a:1 3@a:1", "b": "1@b:1 3@b:1", "d": "1@a:2 2@a:2"}, []),
    "a log in which nobody fetches may be its own": ({"a": "2@a:1 3@a:1", "b": ""}, []),
    "one log of several brokers": ({"all": "1@a:1 2@a:1 2@b:1 3@b:1"}, []),
    "one log of several brokers beside another": ({"all": "1@a:1 2@a:1 2@b:1 3@b:1", "b": "3@a:2"}, []),
    "masked addresses": ({"a": "2@10.x.x.x:9092", "b": "2@IP"}, []),
    "any length": ({"a": f"{'9' * 5000}@a:1"}, [f"broker {'9' * 61}…"]),
}
"""Fetchers in each log, as the number of their broker and the address at which they fetch; the brokers without a log."""
LISTED = {
    "as many as logs": ("ab", {1: 0, 2: 0}, []),
    "more than logs": ("ab", {1: 0, 2: 0, 11: 5}, ["1 of the brokers 1, 11, 2"]),
    "more only with one that is gone": ("ab", {1: 90_000, 2: 90_000, 3: 0}, []),
    "fewer, as a controller's log is there": ("abd", {1: 0, 2: 0}, []),
}
"""The logs of a cluster, the brokers in answers to Metadata with when the last one listed each, and those without a log."""


@pytest.fixture(scope="module")
def of_brokers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster for each case of `TIMES`, `FETCHERS` and `LISTED`."""
    usage, files, connections, mentioned = [], [], [], []
    for cluster, (periods, _, *end) in TIMES.items():
        log = {"cluster": cluster, "broker": "loud"}
        usage.append(log | {"first_at": at(0), "last_at": at(*end or [3600]), "info_only": False})
        whole = [{"whole_from": at(first), "whole_until": at(last), "max_idle_ms": 600_000} for first, last in periods]
        coverage = {"log_coverage": {"starts": [], "whole_periods": whole}}
        files.append(log | {"file_id": cluster, "path": "p", "ingested_at": at(9999)} | coverage)
    log = {"cluster": "fallen", "broker": "loud"}
    usage += [
        log | {"connection_id": f"{first}", "first_at": at(first), "last_at": at(last), "info_only": first > 0}
        for first, last in ((0, 30), (40, 60))
    ]
    coverage = {"starts": [], "whole_periods": [{"whole_from": at(0), "whole_until": at(30), "max_idle_ms": 600_000}]}
    files.append(log | {"file_id": "fallen", "path": "p", "ingested_at": at(9999), "log_coverage": coverage})
    unread = []
    for cluster, (offsets, _) in UNREAD.items():
        spans = ((0, 10, 10, 100), (15, 44, 200, 900))
        runs = [dict.fromkeys(EVIDENCE) | dict(zip(RUN, (at(a), at(b), *its), strict=True)) for a, b, *its in spans]
        log = {"cluster": cluster, "broker": "loud", "file_id": cluster, "path": "p", "ingested_at": at(9999)}
        files.append(log | {"debug_runs": runs})
        unread += [{"file_id": cluster, "byte_offset": offset} for offset in offsets]
    logs_of = {cluster: tuple(logs) for cluster, (logs, *_) in (FETCHERS | LISTED).items()}
    for cluster, logs in logs_of.items():
        files += [
            {"cluster": cluster, "broker": log, "file_id": f"{cluster} {log}", "path": "p", "ingested_at": at(0)}
            for log in logs
        ]
        of_client = {"role": "client", "client_id": "broker-7-fetcher-0", "connection_id": "a:1-h:1-0"}
        connections.append({"cluster": cluster, "broker": logs[0]} | of_client)
    for cluster, (its, _) in FETCHERS.items():
        fetching = [(log, *one.split("@")) for log, text in its.items() for one in text.split()]
        connections += [
            {"cluster": cluster, "broker": log, "role": "broker", "client_id": f"broker-{node}-fetcher-0"}
            | {"connection_id": f"{address}-10.x.x.x:1-{n}" if "x.x" in address else f"{address}-h:1-{n}"}
            for n, (log, node, address) in enumerate(fetching)
        ]
    for cluster, (_, brokers, _) in LISTED.items():
        answer = {"cluster": cluster, "broker": "a", "file_id": f"{cluster} a", "kind": "broker", "first_at": at(0)}
        mentioned += [
            answer | {"topic": str(node), "row_number": node, "last_at": at(last)} for node, last in brokers.items()
        ]
        mentioned.append(mentioned[-1] | {"kind": "name", "topic": "a topic", "row_number": 99})
    tables = {"connections": connections, "ingested_files": files, "topic_mentions": mentioned, "api_usage": usage}
    tables["rejected_records"] = unread
    return write_warehouse(tmp_path_factory.mktemp("brokers") / "w", tables)


@pytest.mark.parametrize("name", TIMES)
def test_a_log_that_holds_some_of_the_requests_only_is_named(of_brokers: Path, name: str) -> None:
    text = TIMES[name][1]
    assert partly_logged(scope_of(of_brokers, cluster=name)) == (
        text and f"Not every request is in the logs of {name}/loud ({text}): a broker may have been at INFO or down, the log "
        "filtered, or a part of it missing. Clients may be missing, or look fine."
    )  # fmt: skip


@pytest.mark.parametrize("name", UNREAD)
def test_records_that_cannot_be_read_between_requests_are_counted(of_brokers: Path, name: str) -> None:
    text = UNREAD[name][1]
    assert partly_logged(scope_of(of_brokers, cluster=name)) == (
        text and f"Records between requests cannot be read in the logs of {name}/loud ({text}): a part of the log may be missing, "
        "with its clients."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "since", "until", "says"),
    [
        ("DEBUG, then INFO", None, 600, None),
        ("DEBUG, then INFO", 700, None, " (at no time complete)"),
        ("INFO, then DEBUG", 300, None, " (complete only from 2026-11-21 02:10:00 to 2026-11-21 03:00:00)"),
        ("a hole", 720, None, None),
        ("a hole", 60, 700, " (complete only from 2026-11-21 02:01:00 to 2026-11-21 02:10:00)"),
        ("a hole", 9999, None, None),
        ("in a silence", 12, None, " (1; no request from 2026-11-21 02:00:10 to 2026-11-21 02:00:15)"),
        ("in a silence", 16, None, None),
        ("among requests", 5, 12, " (2)"),
        ("among requests", 12, None, None),
        ("fallen", None, 30, None),
        ("fallen", 40, None, "Brokers that log at INFO: fallen/loud."),
    ],
)
def test_what_a_log_lacks_in_the_asked_time_is_said(
    of_brokers: Path, name: str, since: int | None, until: int | None, says: str | None
) -> None:
    times = {key: at(second) for key, second in (("since", since), ("until", until)) if second is not None}
    scope = scope_of(of_brokers, cluster=name, **times)
    text = " ".join(filter(None, (info_logs(scope), partly_logged(scope))))
    assert (bool(text), (says or "") in text) == (says is not None, True)


@pytest.mark.parametrize("name", [*FETCHERS, *LISTED])
def test_a_broker_that_fetches_from_those_of_all_logs_or_is_listed_beside_has_none(of_brokers: Path, name: str) -> None:
    *_, names = (FETCHERS | LISTED)[name]
    expected = ", ".join(f"{name}/{one}" for one in names) or None
    assert brokers_without_logs(scope_of(of_brokers, cluster=name)) == expected


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
    many = releases_of_brokers([{"cluster": f"c{n:02}", "broker": "b", "release": "3.9"} for n in range(52)])
    assert many.count("Release of") == 50
    at_info = releases_of_brokers([{"cluster": "c", "broker": "b", "release": None}], is_only_info=True)
    assert at_info == "Release of the brokers of c: 3.9.1 or later, as they log at INFO."
    assert many.endswith(" And 2 more clusters: the view broker_releases.")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, ""),
        ({"principal": ""}, "--principal ''"),
        ({"client": "a\u202e*", "cluster": "c"}, "--cluster c --client a\ufffd*"),
        ({"client": "x" * 99}, f"--client {'x' * 59}…"),
        ({"since": datetime(2026, 11, 21, tzinfo=UTC)}, "--since 2026-11-21"),
        ({"until": datetime(2026, 11, 21, 2, 0, 7, 9, tzinfo=UTC)}, "--until 2026-11-21T02:00:07"),
    ],
)
def test_filters_are_named_as_options(given: dict[str, Any], text: str) -> None:
    assert asked(Filters(**given)) == text
