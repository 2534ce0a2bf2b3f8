"""The law of connections of one client: those that a run recomputes, with the stored ones that it changes, are as all at once.

Many made clients have connections of a few days, which show a library, show too little, or show another library. Some are
stored, perhaps with fewer requests or as another client's, and the rest is new; all clients are judged at once, as what costs
time is the number of queries.
"""

import random
from collections import Counter
from typing import Any

from pyspark.sql import functions as F

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.of_clients import StoredConnections, changed, recomputed
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.tables.spec import CONNECTION_KEY
from kafka_clientinfo.warehouse.replacement import replaced, staying, with_replaced
from tests.concerns.cases import with_needed
from tests.frames import api_versions, judge_requests, log, request

DAY = 86_400
CLIENTS = 120
SENT = {
    "kafka-go": [("LEAVE_GROUP", 0)],
    "aiokafka": [("API_VERSIONS", 0), ("METADATA", 5), ("PRODUCE", 7)],
    "little": [("FIND_COORDINATOR", 0)],
    "little more": [("FIND_COORDINATOR", 0), ("FIND_COORDINATOR", 0)],
    "what no library sends": [("API_VERSIONS", 2), ("METADATA", 8), ("FETCH", 4), ("JOIN_GROUP", 1)],
}
BESIDE = [
    api_versions("opens the log", day * DAY + seconds, 0, correlation_id=77 + seconds, client_id="beside")
    for day in (0, 1)
    for seconds in range(0, 1000, 100)
]
"""Requests that show the log is complete, whatever else it holds."""
PROBABLE = (
    "probable_software_name", "probable_versions_from", "probable_versions_to", "probable_basis", "probable_evidence",
    "candidate_software",
)  # fmt: skip
COLUMNS = (*CONNECTION_KEY, "role", "remote_host", "principal", "client_id", "client_software_name", *PROBABLE)
Row = dict[str, Any]


def sent(connection: str, seconds: float, what: str, **given: Any) -> list[Row]:
    rows = []
    for place, (api, version) in enumerate(SENT[what]):
        answered = {"error_code": 0, "request": "{}"} if api == "API_VERSIONS" else {}
        of_api = {"api_key": api_key(api), "api_name": api, "correlation_id": place + 1}
        rows.append(request(connection, seconds + place, "METADATA", version, **of_api, **answered, **given))
    return rows


def made(seed: int) -> tuple[list[Row], list[Row], set[str]]:
    """All requests, those that are stored first, and the connections that are computed again then."""
    draw = random.Random(seed)
    all_requests, stored, again = list(BESIDE), list(BESIDE), set()
    for number in range(CLIENTS):
        who = {"client_id": draw.choice((f"client-{number}", f"client-{number}", f"client-{number}", ""))}
        who |= {"remote_host": draw.choice((*["10.0.0.9"] * 6, "10.0.0.8"))}
        for nth in range(draw.randint(1, 4)):
            name, day = f"{number}-{nth}", draw.choice((0, 0, 0, 1))
            seconds = 500 + day * DAY + draw.randint(0, 300) + number
            rows = sent(
                name, seconds, draw.choice(("little", "little", "little more", "kafka-go", "kafka-go", *SENT)), **who
            )
            all_requests += rows
            share = draw.choice((0, 0, 1, 1, 1, len(rows)))
            before = rows[:share]
            if before and draw.random() < 0.3:
                before = [row | {"client_id": f"client-{number ^ 1}"} for row in before]
            stored += before
            if before != rows or draw.random() < 0.1:
                again.add(name)
    # A connection that shows a library is of another client than was thought, and leaves one that shows too little.
    for name, what in (("stays", "little"), ("leaves", "kafka-go")):
        rows = sent(name, 800, what, client_id="left")
        stored += rows
        all_requests += rows if name == "stays" else [row | {"client_id": "joined"} for row in rows]
    again.add("leaves")
    order = lambda row: row["logged_at"]  # noqa: E731
    return sorted(all_requests, key=order), sorted(stored, key=order), again


def table(spark: Any, requests: Any, files: Any, stored: StoredConnections | None = None) -> Any:
    chosen = with_needed("client_software")
    return connections(judge_requests(requests, files, Settings(), chosen), Settings(), chosen, None, stored)


def as_shown(rows: Any) -> Counter[str]:
    """Probable software by connection; the files of two logs differ."""
    return Counter(map(repr, rows.select("connection_id", "client_id", *PROBABLE).collect()))


def test_what_is_recomputed_and_what_changes_with_it_is_as_all_at_once(spark: Any) -> None:
    rows, rows_before, again = made(1)
    requests, files = log(spark, rows)
    before = table(spark, *log(spark, rows_before)).select(*COLUMNS).localCheckpoint()
    nothing = F.lit(None)
    ids = requests.where(F.col("connection_id").isin(*again)).select("cluster", "broker", "connection_id").distinct()
    ids = ids.select(
        "*", nothing.cast("timestamp").alias("opened_at"), nothing.cast("int").alias("opened_seq"),
        nothing.cast("timestamp").alias("unchanged_until"),
    )  # fmt: skip
    held = StoredConnections(staying(before, ids), replaced(before, ids))
    found = table(spark, requests.where(F.col("connection_id").isin(*again)), files, held).localCheckpoint()
    others = changed(found).select(*COLUMNS)
    new = recomputed(found).select(*COLUMNS).unionByName(others)
    keys = ids.unionByName(others.select(*CONNECTION_KEY), allowMissingColumns=True)
    expected = table(spark, requests, files).select(*COLUMNS)
    assert as_shown(with_replaced(before, new, keys)) == as_shown(expected)
    bases = Counter(row["probable_basis"] for row in expected.select("probable_basis").collect())
    assert min(bases["client"], bases["connection"]) > 10
    assert others.count() > 3
