"""The words for clients and verdicts that commands, messages and the report share."""

from typing import Any

import pytest

from kafka_clientinfo.questions import presenter
from kafka_clientinfo.questions.presenter import (
    advice,
    least_release,
    to_do,
    verdicts,
    ways_of_libraries,
    without_numbers,
)
from kafka_clientinfo.releases.broker_releases import ACCEPTED, DEPRECATED, REFUSED, UNDECIDED
from kafka_clientinfo.releases.client_libraries import client_libraries


@pytest.mark.parametrize(
    ("numbers", "breaking", "sentence"),
    [
        ((4, 0, 0, 1), "4", "4 would break; 0 would work, but not later; 0 cannot be judged; 1 is fine"),
        ((1, 1200, 3, 0), "1 client", "1 client would break; 1,200 would work, but not later; 3 cannot be judged; 0 are fine"),
    ],
)  # fmt: skip
def test_the_clients_of_each_verdict_are_set_apart(numbers: tuple[int, ...], breaking: str, sentence: str) -> None:
    by_verdict = dict(zip((REFUSED, DEPRECATED, UNDECIDED, ACCEPTED), numbers, strict=True))
    assert verdicts(by_verdict, breaking) == sentence


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        *((presenter.in_bytes, number, text) for number, text in (
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (999_900, "999.9 KB"), (1_500_000, "1.5 MB"), (2_000_000_000, "2.0 GB"),
            (5_000_000_000_000_000, "5,000.0 TB"),
        )),
        *((presenter.identity, given, text) for given, text in ((None, "(none)"), ("", "(empty)"), ("app", "app"), (" ", " "))),
        *((lambda n: presenter.counted(n, "row"), n, text) for n, text in ((0, "0 rows"), (1, "1 row"), (1200, "1,200 rows"))),
    ],
)  # fmt: skip
def test_values_are_short_words(function: Any, value: Any, text: str) -> None:
    assert function(value) == text


JAVA = "Apache Kafka's Java client"
REMARK = "0.11.0.3 works as measured, but Kafka 4.0 supports 2.1 and later only, KIP-896"


IDS = {
    "cron-ck-17": "cron-ck-#",
    "producer-4": "producer-#",
    "app_17_x": "app_#_x",
    "1-2-3-a": "#-#-#-a",
    "x-1.5\n": "x-#.#\n",
    "j01022-c1": "j01022-c#",
    "j332-c1": "j332-c#",
    "app-0f8fad5b-d9cb-469f-a165-70867728950e-x": "app-#-x",
    "é5-7é": "é#-#é",
    "": "",
    "billing-7f9c6d5b8-5sl68": "billing-#-#",
    "billing-5d8f7c9b4-zzkhq": "billing-#-#",
    "billing-bcdfgh-x9k2m": "billing-#-#",
    "a-b-7f9c6d5b8c-x9k2m-consumer-1": "a-b-#-#-consumer-#",
    "cron-29384756-xkcdm": "cron-#-#",
    "cron-28456789-x9k2m": "cron-#-#",
    "agent-x9k2m": "agent-#",
    "agent-x9k2m-1": "agent-#-#",
    "order-service-cache": "order-service-cache",
    "order-bcdfgh-https": "order-bcdfgh-https",
    "order-7f9c6d5b8cc-https": "order-7f9c6d5b8cc-https",
    "order-7f9c6-https": "order-7f9c6-https",
    "7f9c6d5b8-5sl68": "7f9c6d5b8-#",
    "order-20261121-https": "order-#-https",
    "order-prd24": "order-prd#",
    "order-https": "order-https",
    "order-k8s": "order-k8s",
    "order-sha256-log4j": "order-sha256-log4j",
    "order-x9k2m-blue": "order-x9k2m-blue",
    "x9k2m": "x9k2m",
    "orderx9k2m": "orderx9k2m",
}
"""Client ids, and what stays the same in all instances of the program."""


@pytest.mark.parametrize("client_id", IDS)
def test_only_what_varies_between_instances_is_no_part_of_a_name(client_id: str) -> None:
    assert without_numbers(client_id) == IDS[client_id]


def use(library: str, first: str | None, newest: str | None, **given: Any) -> dict[str, Any]:
    columns = {"library": library, "upgrade_to": first, "upgrade_newest": newest}
    row = {"verdict": "refused", "reason": "below_range", "client_software_name": "stated", "client_id": "app"}
    row |= {"client_software_version": "1.0"}
    return row | columns | {"upgrade_over": None, "raise_setting": None} | given


def by_id(client_id: str | None, **given: Any) -> dict[str, Any]:
    return use("", None, None, client_software_name="unknown", client_id=client_id, **given) | {"library": None}


def fits(name: str, first: str, last: str) -> dict[str, str]:
    return {"software_name": name, "versions_from": first, "versions_to": last}


JAVA_0_10 = fits("apache-kafka-java", "0.10.0.0", "0.10.2.2")
SARAMA, RDKAFKA = fits("sarama", "1.19.0", "1.61.1"), fits("librdkafka", "1.0.0", "1.0.0")


def by_behaviour(library: str, first: str, last: str, **given: Any) -> dict[str, Any]:
    probable = {"probable_software_name": library, "probable_versions_from": first, "probable_versions_to": last}
    advice = {f"probable_{name}": None for name in ("upgrade_to", "upgrade_newest", "upgrade_over", "raise_setting")}
    row = use("", None, None, client_software_name="unknown") | {"library": None}
    return row | probable | advice | {"probable_library": library} | given


@pytest.mark.parametrize(
    ("row", "target", "least"),
    [
        (use(JAVA, "0.11.0.3", "4.4.0"), "4.0.1", ("2.1", REMARK)),
        (use(JAVA, "0.11.0.3", "2.1.1"), "4.0.1", ("2.1", REMARK)),
        (use(JAVA, "0.11.0.3", "2.0.1"), "4.0.1", ("0.11.0.3", "")),
        (use(JAVA, "0.11.0.3", "4.4.0"), "3.9.1", ("0.11.0.3", "")),
        (use(JAVA, "2.1.1", "4.4.0"), "4.0.1", ("2.1.1", "")),
        (use(JAVA, "10.0.0", "10.0.0"), "4.0.1", ("10.0.0", "")),
        (use("sarama", "1.43.3", "1.61.1"), "4.0.1", ("1.43.3", "")),
    ],
)
def test_java_clients_need_a_release_with_support(row: dict[str, Any], target: str, least: tuple[str, str]) -> None:
    assert least_release(row, target) == least


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (use(JAVA, "0.11.0.3", "4.4.0"), f"upgrade to {JAVA} 2.1 or later ({REMARK}); newest: 4.4.0"),
        (use("sarama", "1.46", "1.61.1"), "upgrade to sarama 1.46 or later; newest: 1.61.1"),
        (
            use("sarama", "1.46", "1.46", upgrade_over="3.9.1"),
            "upgrade to sarama 1.46 or later; brokers to 3.9.1 first",
        ),
        (
            use("sarama", "1.43.3", "1.61.1", client_software_version="dev"),
            "upgrade to sarama 1.43.3 or later; newest: 1.61.1; or raise Config.Version, which many programs call version, if that "
            "pins its versions",
        ),
        (
            use("sarama", "1.43.3", "1.61.1", client_software_version="dev", reason="api_absent"),
            "upgrade to sarama 1.43.3 or later; newest: 1.61.1",
        ),
        (use("sarama", None, None, raise_setting="Config.Version"), "raise Config.Version; sarama is new enough"),
        (use("sarama", None, None), ""),
        (
            by_id("kafka-python-1.3.5"),
            "its client id is one that kafka-python picks by default, but other programs may use it too",
        ),
        (by_id("sarama\n"), ""),
        (
            by_id("app", candidate_software=[JAVA_0_10, SARAMA, RDKAFKA]),
            f"fits {JAVA} 0.10.0.0 to 0.10.2.2, sarama 1.19.0 or later with an old Config.Version, librdkafka 1.0.0, "
            "or another library that a setting pins to old versions",
        ),
        (
            by_id("sarama", candidate_software=[JAVA_0_10]),
            f"fits {JAVA} 0.10.0.0 to 0.10.2.2, or another library that a setting pins to old versions",
        ),
        (
            by_id("rdkafka", candidate_software=[RDKAFKA]),
            "fits librdkafka 1.0.0, or another library that a setting pins to old versions; its client id is one that "
            "confluent-kafka for Python (librdkafka) picks by default, but other programs may use it too",
        ),
        (by_id(f"consumer-{'9' * 247}"), ""),
        (by_id(None), ""),
        (
            by_behaviour("aiokafka", "0.0.1", "0.12.0", probable_upgrade_to="0.10.0", probable_upgrade_newest="0.10.0"),
            "probably aiokafka 0.0.1 to 0.12.0: upgrade to aiokafka 0.10.0 or later; or raise api_version, if that pins its versions",
        ),
        (
            by_behaviour("aiokafka", "0.0.1", "0.9.0", probable_upgrade_to="0.10.0", probable_upgrade_newest="0.10.0"),
            "probably aiokafka 0.0.1 to 0.9.0: upgrade to aiokafka 0.10.0 or later",
        ),
    ],
)
def test_advice_names_one_minimum(row: dict[str, Any], text: str) -> None:
    assert advice(row, "4.0.1") == text


def test_every_measured_library_has_a_way() -> None:
    ways = {name: (least, newest, setting) for name, least, newest, setting in ways_of_libraries("4.0.1")}
    assert ways[JAVA][0] == "2.1"
    assert ways["kafka-python"][2] == "api_version"
    assert ways.keys() == {library.name for library in client_libraries()}


@pytest.mark.parametrize(
    ("row", "ends"),
    [
        (use("sarama", "1.46", "1.61.1"), "or later; newest: 1.61.1"),
        (
            use("", None, None) | {"library": None},
            "upgrade its library, or raise the setting that pins it to old versions",
        ),
        (by_id("app"), "find out which library it uses"),
        (
            by_id("app", candidate_software=[RDKAFKA]),
            "find out which library it uses: fits librdkafka 1.0.0, or another library that a setting pins to old versions",
        ),
        (by_id("app", reason="api_absent"), ""),
        (by_id("app", verdict="deprecated"), ""),
    ],
)
def test_who_is_refused_never_gets_no_advice(row: dict[str, Any], ends: str) -> None:
    assert to_do(row, "4.0.1").endswith(ends)
    assert bool(to_do(row, "4.0.1")) == bool(ends)
