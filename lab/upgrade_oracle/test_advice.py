"""Both releases that a client is advised to take work at the target, and the one before them does not: on a real 4.0.1 broker.

The clients are those of the sample's 2.8.2 log. Needs what `test_real_upgrade` needs.
"""

from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.releases.client_libraries import client_libraries
from tests.scanned import scanned

from . import fleet, libraries, library_releases, real_broker

pytestmark = pytest.mark.oracle

SAMPLE = Path(__file__).parents[2] / "sample_logs" / "kafka-2.8.2"
TARGET = "4.0.1"


@pytest.fixture(scope="module")
def advised() -> set[tuple[str, str, str]]:
    """Libraries with the first and the newest release that clients of unknown software are advised to take."""
    rows = impact(Scope(scanned([SAMPLE], Settings())), TARGET).rows
    names = ("probable_library", "probable_upgrade_to", "probable_upgrade_newest")
    return {tuple(row[name] for name in names) for row in rows if row["probable_upgrade_newest"] is not None}


def test_java_clients_before_0_11_are_told_to_take_it(advised: set[tuple[str, str, str]]) -> None:
    assert {("Apache Kafka's Java client", "0.11.0.3")} <= {advice[:2] for advice in advised}


def test_the_advised_releases_work_and_the_one_before_them_fails(
    advised: set[tuple[str, str, str]], tmp_path: Path
) -> None:
    by_name = {library.name: library for library in libraries.LIBRARIES}
    measured = {library.name: [one.name for one in library.releases] for library in client_libraries()}
    with real_broker.running(TARGET, tmp_path / TARGET) as broker:
        list(fleet.outcome(fleet.SETUP, broker.address))  # the topic, and messages in it
        for name, first, newest in sorted(advised):
            place = measured[name].index(first)
            works_by_release = {first: True, newest: True} | ({measured[name][place - 1]: False} if place else {})
            for tried, works in works_by_release.items():
                words, environment = library_releases.command(
                    by_name[name], tried, broker.address, f"a{tried}", "t1", TARGET
                )
                roles = library_releases.said(words, environment)
                print(name, tried, roles)
                assert library_releases.works(roles) is works, (name, tried, roles)
