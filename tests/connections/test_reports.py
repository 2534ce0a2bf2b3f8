"""What brokers say of themselves, and what logs show of missing requests: from which time it changes results."""

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.coverage import periods_of
from kafka_clientinfo.connections.reports import reports
from tests.frames import START, at, files_of

SETTINGS = Settings(coverage_gap_ms=300_000, max_idle_ms=600_000)


def test_what_a_broker_says_is_reported_with_the_time_from_which_it_counts() -> None:
    """Of the limits for idle connections those that are greater than what earlier runs have read count."""
    said = [
        (0, 10, "max_idle_ms", "600000"),
        (1, 20, "max_idle_ms", "900000"),
        (1, 21, "max_idle_ms", "800000"),
        (2, 30, "max_idle_ms", "700000"),
        (3, 40, "max_idle_ms", "900000"),
        (4, 50, "max_idle_ms", "-1"),
        (5, 60, "log_level", "root=INFO"),
        (6, 70, "version", "4.0.1"),
        (7, 80, "started", "1"),
    ]
    events = [
        {"at": at(second), "kind": kind, "value": value, "ingested_at": at(run)} for run, second, kind, value in said
    ]
    file = {"file_id": "server", "cluster": "c", "broker": "b", "broker_events": events}
    others = [event for event in events if event["kind"] == "version"]
    files = [file, file | {"file_id": "other", "broker": "other", "broker_events": others}]
    found = [
        ((report.ingested_at - START).seconds, (report.since - START).total_seconds())
        for report in reports(periods_of(files_of(files), SETTINGS))
    ]
    ever = -START.timestamp()
    assert sorted(found) == [(0, ever), (1, ever), (4, ever), (5, 59), (7, 79)]


# Per case: of each run of requests, the run of the program that read evidence of each kind; the runs that change a judgement.
EVIDENCE: dict[str, tuple[list[dict[str, int]], set[int]]] = {
    "nothing": ([{}], set()),
    "ids that go on": ([{"continuity": 1}], set()),
    "missing ids": ([{"omission": 1}], {1}),
    "missing ids, twice": ([{"omission": 2}, {"omission": 1}], {1}),
    "missing ids, and later ids that go on": ([{"omission": 1}, {"continuity": 3}, {"continuity": 2}], {1, 2}),
    "ids that go on, and later missing ids": ([{"omission": 2, "continuity": 1}], set()),
    "both at once": ([{"omission": 1, "continuity": 1}], set()),
    "names without ApiVersions": ([{"software_name": 2}, {"software_name": 1}], {1}),
    "names, and later ApiVersions": ([{"software_name": 1, "api_versions": 2}], {1, 2}),
    "ApiVersions, and later names": ([{"software_name": 2, "api_versions": 1}], {1}),
    "names and ApiVersions at once": ([{"software_name": 1, "api_versions": 1}], {1}),
    "ApiVersions alone": ([{"api_versions": 2}, {"api_versions": 1}], {1}),
}


def test_evidence_of_missing_requests_is_reported_if_it_changes_what_was_known() -> None:
    """A log with ApiVersions is known to be complete; the order in which evidence is read decides."""
    nothing = dict.fromkeys(("omission", "continuity", "software_name", "api_versions"))
    rows = []
    for name, (shown, _) in EVIDENCE.items():
        runs = [
            {"began_at": at(10 * n), "ended_at": at(10 * n + 1), "began_offset": n, "ended_offset": n}
            | nothing
            | {kind: at(read) for kind, read in kinds.items()}
            for n, kinds in enumerate(shown)
        ]
        bounds = {"first_logged_at": at(0), "last_logged_at": at(100), "step_back_ms": 0, "covers_broker_start": False}
        rows.append({"file_id": name, "cluster": "c", "broker": name, "debug_runs": runs, "broker_events": []} | bounds)
    reported = [
        (report.broker[1], (report.ingested_at - START).seconds)
        for report in reports(periods_of(files_of(rows), SETTINGS))
    ]
    assert {name: {row[1] for row in reported if row[0] == name} for name in EVIDENCE} == {
        name: read for name, (_, read) in EVIDENCE.items()
    }
