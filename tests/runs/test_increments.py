"""What a build recomputes: what new requests go on with, and nothing that is over."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.runs import increments

from ..warehouse.tiny import AT
from .brokers import LATER, Connection, Log, at, file_of, log_that_shows, old, server_log, stored

Recomputed = dict[str, tuple[str, list[int]]]
"""Per connection id, what is replaced, and the seconds of the requests that are judged."""
ON, NEW, ALL = "a connection that goes on", "nothing", "all of the id that is not frozen"

Stays = dict[str, tuple[int, float]]
"""Of the frozen connections of an id: their number, and the time of their latest request."""


def seconds_of(name: str) -> Any:
    return (F.unix_micros(name) - int(AT.timestamp() * 1_000_000)) / 1e6


def stays(increment: increments.Increment) -> Stays:
    last = seconds_of("unchanged_last_request_at").alias("last")
    rows = increment.requests.where("unchanged_connections > 0")
    found = rows.select("connection_id", "unchanged_connections", last).distinct()
    return {name: (number, last) for name, number, last in found.collect()}


def recomputed(increment: increments.Increment) -> dict[str, Recomputed]:
    """What is recomputed of each broker."""
    assert increment.replaced is not None
    ids = ["broker", "connection_id"]
    judged_before = increment.before.requests
    going_on = set() if judged_before is None else {tuple(row) for row in judged_before.select(*ids).collect()}
    replaced = {tuple(row): ON if tuple(row) in going_on else ALL for row in increment.replaced.select(*ids).collect()}
    requests: dict[tuple[str, str], list[int]] = {}
    for row in increment.requests.where("not is_duplicate").select("broker", "connection_id", "second").collect():
        requests.setdefault((row[0], row[1]), []).append(row[2])
    assert going_on <= replaced.keys()
    assert increment.before.states is None or increment.before.states.count() == len(going_on)
    assert judged_before is None or judged_before.count() == 2 * len(going_on)
    found: dict[str, Recomputed] = {}
    for key in {*replaced, *requests}:
        found.setdefault(key[0], {})[key[1]] = (replaced.get(key, NEW), sorted(requests.get(key, [])))
    return found


def since(spark: Any, *of_brokers: Any) -> increments.Increment:
    return increments.new_since(stored(spark, *of_brokers))


def over_and_open(is_open_beside: bool) -> tuple[Log, Recomputed]:
    """The last connection of an id may go on; those before it stay."""
    beside = [("open", seconds) for seconds in range(0, 3600, 500)] if is_open_beside else []
    before = old(*(("again", seconds) for seconds in (0, 500, 600, 900, 1000)), ("untouched", 2), *beside)
    new = old(("again", 3600), ("first", 3601), *([("open", 3602)] if is_open_beside else []))
    connections: list[Connection] = [
        ("again", 1, 0, 900, 0), ("again", 2, 500, 600, 1), ("again", 3, 1000, 1000, 4), ("untouched", 1, 2, 2, 5),
    ]  # fmt: skip
    expected = {"again": (ON, [3600]), "first": (NEW, [3601])}
    if is_open_beside:
        connections.append(("open", 1, 0, 3500, 6))
        expected["open"] = (ON, [3602])
    return Log(before, new, connections, [file_of("f", len(before) + len(new), 0)]), expected


def late_file(has_grown: bool) -> tuple[Log, Recomputed]:
    """A late file, of which another file comes before and one after, has all ids of its broker recomputed.

    Also if the one that comes after it has grown in the same run.
    """
    grown = old(("z", 5002)) if has_grown else []
    files = [file_of("f", 2 + len(grown), 5000, LATER if has_grown else AT), file_of("late", 1, 10)]
    files.append(file_of("earlier", 1, -9000, AT))
    connections: list[Connection] = [("x", 1, 5000, 5000, 0), ("y", 1, 5001, 5001, 1)]
    log = Log(old(("x", 5000), ("y", 5001)), [("x", 10, "late"), *grown], connections, files)
    return log, {"x": (ALL, [10, 5000]), "y": (ALL, [5001]), **({"z": (NEW, [5002])} if has_grown else {})}


def grown_past_another() -> tuple[Log, Recomputed]:
    """Of files that begin at one instant the one that ends first comes first: growth can change their order."""
    before = [*old(("x", 0)), ("untouched", 15, "other")]
    files = [file_of("f", 2, 0, last=30), file_of("other", 1, 0, AT, last=20), file_of("earlier", 1, -9000, AT)]
    log = Log(before, old(("x", 30)), [("x", 1, 0, 0, 0)], files)
    return log, {"x": (ALL, [0, 30]), "untouched": (NEW, [15])}


def new_files() -> tuple[Log, Recomputed]:
    """Of two files that are new, the first is not late: what comes after it was not built."""
    before, new = old(("x", 0), ("untouched", 3)), [("x", 9600.0, "second"), ("x", 19600.0, "third")]
    files = [file_of("f", 2, 0, AT), file_of("second", 1, 9600), file_of("third", 1, 19600)]
    return Log(before, new, [("x", 1, 0, 0, 0)], files), {"x": (ON, [9600, 19600])}


def only_duplicates() -> tuple[Log, Recomputed]:
    """A request that is logged again is not judged, so that its connection keeps its state."""
    log = Log(old(("x", 0)), old(("x", 1), ("y", 2)), [("x", 1, 0, 0, 0)], [file_of("f", 3, 0)], duplicates=("x",))
    return log, {"y": (NEW, [2])}


def set_back(hours: int) -> tuple[Log, Recomputed]:
    """A clock that is set back hides no request."""
    back = hours * 3600
    before = old(("x", 7000), ("x", 7000 - back), ("x", 7300 - back))
    files = [file_of("f", 4, 7000, step_back=back)]
    log = Log(before, old(("x", 7600 - back)), [("x", 1, 7000, 7000, 0)], files)
    return log, {"x": (ON, [7600 - back])}


def set_back_in_a_later_file() -> tuple[Log, Recomputed]:
    """The connection began in a file in which times only rise, as they do in the last file."""
    before = [*old(("x", 5000), ("x", 8000)), ("x", 8100, "later"), ("x", 100, "later")]
    files = [file_of("f", 2, 5000, last=8000), file_of("later", 3, 8100, last=8100, step_back=8000)]
    files.append(file_of("last", 1, 9000))
    log = Log(before, [("x", 400, "later"), ("y", 9000, "last")], [("x", 1, 5000, 8100, 0)], files)
    return log, {"x": (ON, [400]), "y": (NEW, [9000])}


def begun_at_info(info: int, back: float, began: str = "INFO") -> tuple[Log, Recomputed]:
    """New requests at DEBUG settle what began at INFO; if the clock was set back, nobody knows which connections these are.

    What opened a gap and a minute before may have begun at INFO; times that go back by a minute are neighbours'.
    """
    before = old(("old", 0), ("settled", 3239), ("unsettled", 3240))
    connections: list[Connection] = [(name, 1, at, at, place) for place, (name, at, _) in enumerate(before)]
    new = old(("x", 3600), ("x", 5000), ("z", 5001))
    expected = {"x": (NEW, [3600, 5000]), "z": (NEW, [5001])}
    if (info and began == "INFO") or back > 60:
        expected |= {"old": (ALL, [0]), "settled": (ALL, [3239]), "unsettled": (ALL, [3240])}
    return Log(before, new, connections, [file_of("f", 6, 0, step_back=back, info=info)], began=began), expected


def set_back_between_files(back: float) -> tuple[Log, Recomputed]:
    """A file that begins by more than a minute before an earlier one ends shows too that the clock was set back."""
    connections: list[Connection] = [("old", 1, 0, 0, 0), ("settled", 1, 8300, 8300, 1)]
    files = [
        file_of("earlier", 1, -9000, AT, last=-8000),
        file_of("f", 2, 0, AT, info=2),
        file_of("new", 1, 9000 - back),
    ]
    log = Log(old(("old", 0), ("settled", 8300)), [("x", 9000, "new")], connections, files)
    return log, {"x": (NEW, [9000])} | ({"old": (ALL, [0]), "settled": (ALL, [8300])} if back > 60 else {})


def settled_at(level: str) -> tuple[Log, Recomputed]:
    """Requests at INFO settle nothing."""
    files = [file_of("f", 2, 0, info=2)]
    expected = {"x": (NEW, [3600])} | ({} if level == "INFO" else {"y": (ALL, [3550])})
    return Log(old(("y", 3550)), old(("x", 3600)), [("y", 1, 3550, 3550, 0)], files, level), expected


STARTS: dict[str, tuple[list[tuple[Any, ...]], bool]] = {
    "after what was built": ([server_log((8000, "launched", LATER), (8001, "started", LATER))], False),
    "before a request that was built": ([server_log((50, "launched", LATER), (60, "started", LATER))], True),
    "known before": ([server_log((50, "launched", AT), (60, "started", AT))], False),
    "shown only now that it began earlier": (
        [server_log((5000, "started", AT)), server_log((50, "launched", LATER), name="earlier")],
        True,
    ),
    "shown by requests": ([server_log((50, "restarted", LATER))], True),
    "shown by requests, after what was built": ([server_log((8000, "restarted", LATER))], False),
    "not reported": ([server_log((50, "launched", LATER))], False),
    "a level, after what was built": ([server_log((8000, "log_level", LATER))], False),
    "a level, before a request that was built": ([server_log((50, "log_level", LATER))], True),
    "a level, before and after": ([server_log((50, "log_level", LATER), (8000, "log_level", LATER))], True),
    "a limit for idle connections": ([server_log((8000, "max_idle_ms", LATER))], True),
    "a limit that was known": ([server_log((50, "max_idle_ms", AT), (8000, "max_idle_ms", LATER))], False),
    "taken back, as the name is of two nodes": (
        [server_log((50, "started", AT)), server_log((9999, "started", LATER), node="2", name="other")],
        True,
    ),
}
"""Server logs of a broker, and whether all of it is recomputed."""
EVIDENT: dict[str, tuple[list[tuple[Any, ...]], bool]] = {
    "ApiVersions is logged": ([log_that_shows(api_versions=LATER)], True),
    "ApiVersions was logged before": ([log_that_shows(api_versions=AT, software_name=LATER)], False),
    "names without ApiVersions": ([log_that_shows(software_name=LATER)], True),
    "requests are left out": ([log_that_shows(api_versions=AT, omission=LATER)], True),
    "requests were left out before": ([log_that_shows(api_versions=AT, omission=AT)], False),
    "the log had shown that it is whole": ([log_that_shows(api_versions=AT, continuity=AT, omission=LATER)], False),
    "the log is whole after all": ([log_that_shows(api_versions=AT, omission=AT, continuity=LATER)], True),
    "nothing but that it is whole": ([log_that_shows(api_versions=AT, continuity=LATER)], False),
}
"""Logs of a broker with what is read in them, and whether all of it is recomputed."""


def with_files(files: list[tuple[Any, ...]], is_late: bool) -> tuple[Log, Recomputed]:
    connections: list[Connection] = [("a", 1, 0, 100, 0), ("untouched", 1, 3, 3, 2)]
    log = Log(old(("a", 0), ("a", 100), ("untouched", 3)), old(("a", 8500)), connections, files)
    return log, {"a": (ALL, [0, 100, 8500]), "untouched": (ALL, [3])} if is_late else {"a": (ON, [8500])}


def of_a_replica(name: str, host: str) -> tuple[Log, Recomputed]:
    """A host that a new request shows to be a broker's: connections from it that bear a broker's name are a broker's.

    A host that was known to be a broker's changes nothing.
    """
    connections: list[Connection] = [("a", 1, 0, 0, 0), ("elsewhere", 1, 3, 3, 1)]
    log = Log(
        old(("a", 0), ("elsewhere", 3)),
        old((name, 4)),
        connections,
        [file_of("f", 3, 0)],
        replicas=("replica",),
        hosts={"a": host},
    )
    is_shown = (name, host) == ("replica", "replica")
    return log, {name: (NEW, [4])} | ({"a": (ALL, [0]), "elsewhere": (ALL, [3])} if is_shown else {})


CASES: dict[str, tuple[Log, Recomputed]] = {
    "an id that is open beside": over_and_open(True),
    "a late file": late_file(False),
    "a late file before one that has grown": late_file(True),
    "a file that has grown past another": grown_past_another(),
    "new files": new_files(),
    "only duplicates": only_duplicates(),
    **{f"a clock set back by {hours} h": set_back(hours) for hours in (1, 3, 100)},
    "a clock set back in a later file": set_back_in_a_later_file(),
    "nothing at INFO": begun_at_info(0, 0),
    "begun at INFO": begun_at_info(3, 0),
    "begun at DEBUG, from a broker that writes INFO too": begun_at_info(3, 0, "DEBUG"),
    **{f"begun at INFO, and times go back by {back:g} s": begun_at_info(3, back) for back in (60, 60.001, 3600)},
    **{f"a file begins {back:g} s before the last ends": set_back_between_files(back) for back in (60, 60.001)},
    **{f"settled at {level}": settled_at(level) for level in ("INFO", "DEBUG")},
    **{
        f"a {name} from its host, and a connection from a {host}'s": of_a_replica(name, host)
        for name in ("replica", "client")
        for host in ("replica", "client")
    },
    **{
        f"a start: {name}": with_files([file_of("f", 4, 0), *logs], is_late) for name, (logs, is_late) in STARTS.items()
    },
    **{f"evidence: {name}": with_files(files, is_late) for name, (files, is_late) in EVIDENT.items()},
}
"""Brokers, and what a run with new requests of all of them recomputes."""


@pytest.fixture(scope="module")
def recomputed_by_broker(spark: Any) -> dict[str, Recomputed]:
    return recomputed(since(spark, {name: log for name, (log, _) in CASES.items()}))


@pytest.mark.parametrize("name", CASES)
def test_what_new_requests_can_change_is_recomputed(recomputed_by_broker: dict[str, Recomputed], name: str) -> None:
    assert recomputed_by_broker[name] == CASES[name][1]


@pytest.mark.parametrize("is_open_beside", [pytest.param(False, marks=pytest.mark.long), True])
def test_no_requests_that_were_judged_are_read_again(spark: Any, is_open_beside: bool) -> None:
    log, expected = over_and_open(is_open_beside)
    increment = since(spark, {"b": log})
    assert increment.earliest_recomputed_at() == at(0 if is_open_beside else 1000)
    assert increment.judged_before == 2 * (1 + is_open_beside)
    assert recomputed(increment) == {"b": expected}


@pytest.mark.long
def test_connections_whose_requests_are_deleted_stay(spark: Any) -> None:
    """The newest one has lost its requests; it is not over, but can't be computed again."""
    connections: list[Connection] = [
        ("x", 1, 0, 499, 0), ("x", 2, 50, 100, 0), ("y", 1, 50, 900, 0), ("at the instant", 1, 500, 500, 1),
    ]  # fmt: skip
    files, retained_from = [file_of("f", 5, 0)], at(500)
    new = old(("x", 600), ("y", 950), ("at the instant", 560))
    log = Log(old(("y", 900), ("at the instant", 500)), new, connections, files)
    held = stored(spark, {"b": log}, retained_from)
    increment, whole = increments.new_since(held), increments.everything_retained(held)
    assert stays(increment) == stays(whole) == {"x": (2, 499)}
    assert recomputed(increment) == {"b": {"x": (NEW, [600]), "y": (ON, [950]), "at the instant": (ON, [560])}}
    assert recomputed(whole) == {"b": {"x": (NEW, [600]), "y": (ALL, [900, 950]), "at the instant": (ALL, [500, 560])}}


@pytest.mark.long
def test_a_connection_that_lost_its_requests_is_over_also_if_its_id_was_heard_later(spark: Any) -> None:
    """A clock was set back between the id's connections."""
    connections: list[Connection] = [("x", 1, 700, 999, 0), ("x", 2, 400, 450, 0)]
    log = Log([], old(("x", 1000)), connections, [file_of("f", 1, 0)], heard={"x": 999})
    assert recomputed(increments.new_since(stored(spark, {"b": log}, at(500)))) == {"b": {"x": (NEW, [1000])}}
