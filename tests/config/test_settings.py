"""Settings: later sources win, and every wrong value is named with what to do."""

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings, load_settings
from kafka_clientinfo.errors import ConfigError


def test_later_sources_win(tmp_path: Path) -> None:
    """A name alone is one name, and not its characters."""
    conf = tmp_path / "c.toml"
    conf.write_text('cluster = "from-file"\nmax_idle_ms = 5\nlog_zone = "Europe/Berlin"\n[spark]\n"spark.x" = true\n')
    given = {"spark.kafka_clientinfo.max_idle_ms": "7", "spark.other": "1"}
    found = load_settings(conf, given, cluster="from-argument", broker_pattern=None)
    assert (found.cluster, found.max_idle_ms, found.log_zone) == ("from-argument", 7, "Europe/Berlin")
    assert found.spark["spark.x"] == "true"
    assert Settings(stored_views="upgrade_impact").stored_views == ("upgrade_impact",)  # type: ignore[arg-type]
    assert "spark.master" in found.spark  # the file adds to the defaults' conf and does not replace it


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("server_logs", "true", True), ("server_logs", "True", True), ("server_logs", "FALSE", False),
     ("controller_listeners", "CONTROLLER, RAFT", ("CONTROLLER", "RAFT"))],
)  # fmt: skip
def test_lists_and_true_and_false_can_come_from_the_spark_conf(name: str, text: str, value: object) -> None:
    assert getattr(load_settings(spark_conf={f"spark.kafka_clientinfo.{name}": text}), name) == value
    with pytest.raises(ConfigError, match="server_logs is 'yes'; expected a value like True"):
        load_settings(spark_conf={"spark.kafka_clientinfo.server_logs": "yes"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cluster = ", "not valid TOML"),
        ('cluster = ""', "give the cluster a name"),
        (f"cluster = ['{'a' * 76}']", f"cluster is ['{'a' * 76}']; expected"),
        (f"cluster = ['{'a' * 77}']", f"cluster is ['{'a' * 77}…; expected"),
        ("colour = 1\nbeauty = 1\nage = 1\nform = 1", "unknown setting 'age'; known are"),
        ("max_idle_ms = 1" + "0" * 23, "max_idle_ms is 100000000000000000000000; give a number from 1 to"),
        ("max_idle_ms = 1" + "0" * 5000, "c.toml: "),
        ("max_idle_ms = 1.5", "max_idle_ms is 1.5; expected a value like 600000"),
        ('max_idle_ms = "²"', "max_idle_ms is '²'; expected a value like 600000"),
        ("server_logs = 1", "server_logs is 1; expected a value like True"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ('log_zone = "Berlin"', "give an IANA name"),
        *((f'broker_pattern = "{one}"', "is no regular expression") for one in ("(", "a**")),
        ('broker_pattern = "broker"', "has no group named broker"),
        ("controller_listeners = [1]", "controller_listeners is"),
        ("spark = 1", "spark is 1"),
        ("spark.sql.x = 1", """spark: sql is a table, {'x': 1}; TOML reads a key with dots as tables in tables"""),
        ("[spark]\nspark.sql.x = 1", "put the whole key in quotes, below [spark]"),
        ('[spark]\n"spark.x" = [1]', "spark: spark.x is [1]; give a text, a number, true or false"),
        ('[spark]\n"spark.x" = 2026-11-22', "spark: spark.x is datetime.date(2026, 11, 22); give a text"),
        ('[spark]\n"sql.x" = 1',
            "spark: 'sql.x' is no entry of Spark's conf; these begin with spark., as spark.sql.x does"),
        ('[spark]\n"spark.kafka_clientinfo.cluster" = "a"', "is a setting; write it as cluster above [spark]"),
    ],
)  # fmt: skip
def test_it_says_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    conf = tmp_path / "c.toml"
    conf.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(conf)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("max_idle_ms", 1, 315_360_000_000), ("coverage_gap_ms", 1, 315_360_000_000), ("bucket_minutes", 1, 5_256_000),
        ("unused_topic_hours", 0, 87_600), ("lock_wait_seconds", 0, 315_360_000), ("split_bytes", 1, 1 << 40),
        ("retention_days", 0, 36_500), ("keep_connections_days", 0, 36_500), ("vacuum_hours", 0, 876_000)],
)  # fmt: skip
def test_a_number_may_be_the_lowest_or_the_highest(name: str, low: int, high: int) -> None:
    for value in (low, high):
        before = {"retention_days": 1} if name == "keep_connections_days" else {}
        assert getattr(load_settings(**{**before, name: value}), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=f"arguments: {name} is {value}; give a number from {low} to {high}$"):
            load_settings(**{name: value})


def test_it_says_which_file_it_cannot_read(tmp_path: Path) -> None:
    for name in ("none.toml", "a\0b"):
        with pytest.raises(ConfigError, match=f"cannot read the configuration .*{name}"):
            load_settings(tmp_path / name)


@pytest.mark.parametrize(
    ("pattern", "path", "broker"),
    [
        ("", "/logs/b1/kafka-request.log", "b1"),
        (r"/(?P<broker>broker-\d+)/", "/logs/broker-7/2026/kafka-request.log.gz", "broker-7"),
        (r"/(?P<broker>broker-\d+)/", "/logs/other/kafka-request.log", "other"),
        ("", "/kafka-request.log", "unknown"),
    ],
)
def test_the_path_names_the_broker(pattern: str, path: str, broker: str) -> None:
    assert Settings(broker_pattern=pattern).broker_of(Path(path)) == broker


CONF = Path(__file__).resolve().parents[2] / "conf"


def test_the_configurations_that_ship_are_valid_and_that_of_defaults_has_them_all() -> None:
    load_settings(CONF / "cluster.toml")
    named = tomllib.loads((CONF / "local.toml").read_text("utf-8"))
    assert {*named, "policy"} == {one.name for one in fields(Settings)}
    assert replace(load_settings(CONF / "local.toml"), spark={}) == replace(load_settings(), spark={}) == Settings()


def test_it_says_where_a_wrong_value_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"^spark conf: unknown setting 'colour'; "):
        load_settings(spark_conf={"spark.kafka_clientinfo.colour": "red"})
    (tmp_path / "local.toml").write_text('colour = "red"')
    monkeypatch.setattr(resources, "conf", lambda: tmp_path)
    with pytest.raises(ConfigError, match=r"^conf/local\.toml: unknown setting 'colour'; "):
        load_settings()


def test_each_setting_of_derived_tables_changes_the_fingerprint() -> None:
    """A warehouse stores it; one of another length would have every table derived anew."""
    others = {
        "log_zone": "Europe/Berlin", "max_idle_ms": 1, "coverage_gap_ms": 1, "controller_listeners": (), "bucket_minutes": 1,
        "policy": Policy(unknown_software="refused"),
    }  # fmt: skip
    found = {Settings(**{name: value}).fingerprint() for name, value in others.items()}  # type: ignore[arg-type]
    assert len(found | {Settings().fingerprint()}) == 1 + len(others)
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in found)
