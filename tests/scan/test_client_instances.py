"""DuckDB judges lives of client instances, which the sample logs hardly have, as Spark does."""

from typing import Any

import pytest

from tests.asking import asked
from tests.engines import collected, duckdb_session
from tests.frames import frame
from tests.views.test_lives import LIVES, OTHERS_OF_BROKERS, TELEMETRY, WITHOUT


@pytest.mark.long
def test_lives_are_judged_alike(spark: Any) -> None:
    rows = [row for rows in (*LIVES.values(), *WITHOUT.values()) for row in rows] + OTHERS_OF_BROKERS
    rows += [row for rows, _ in TELEMETRY.values() for row in rows]

    def judged(session: Any) -> list[str]:
        found = collected(asked(session, "client_instances", connections=frame(session, "connections", rows)))
        return sorted(repr(row) for row in found)

    with duckdb_session() as session:
        by_duckdb = judged(session)
    assert len(by_duckdb) > len(LIVES) + len(WITHOUT) + len(TELEMETRY)
    assert by_duckdb == judged(spark)
