"""The policy: what its file may say."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from kafka_clientinfo.config.policy import VERSION, ActivityLimits, Policy, load_policy, parse_policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings, load_settings
from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.protocol import api_names


def test_it_reads_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        'exempt_listeners = ["INSIDE"]\nclient_id_patterns = ["a.*"]\nunknown_software = "refused"\n'
        '[software.kgo]\n[software.apache-kafka-java]\nminimum = "3.0"\n[severity]\nclient_id_lost = "info"\n'
        'client_id_changed = "off"\n'
    )
    settings = load_settings(client_policy=str(path))
    assert settings.policy == Policy(
        software=(("apache-kafka-java", "3.0"), ("kgo", None)), unknown_software="refused", client_id_patterns=("a.*",),
        exempt_listeners=("INSIDE",), severity=(("client_id_changed", "off"), ("client_id_lost", "info")),
    )  # fmt: skip
    assert settings.fingerprint() != load_settings().fingerprint()
    assert settings.policy.severity_of("client_id_changed", "warning") == "off"
    assert settings.policy.severity_of("instance_id_zero", "warning") == "warning"


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        ("[software.kgo]", True), ("client_id_patterns = ['a']", True), ("unknown_software = 'refused'", True),
        ("unknown_software = 'allowed'\nother_software = 'refused'", False),
        ("exempt_listeners = ['INSIDE']\n[severity]\nclient_id_changed = 'off'", False),
        ("[activity]\nminutes = 5", False), ("[forbidden_versions]\nPRODUCE = ['7']", False),
    ],
)  # fmt: skip
def test_it_judges_clients_where_it_requires_something_of_them(text: str, judges: bool) -> None:
    assert parse_policy(text, "x").judges == judges


def test_it_reads_the_limits_of_activity() -> None:
    policy = parse_policy(
        "[activity]\nminutes = 5\nrequests_per_minute = 7000\nrequests_per_minute_always = 7000\n", "x"
    )
    limits = ActivityLimits(minutes=5, requests_per_minute=7000, requests_per_minute_always=7000)
    assert policy == Policy(activity=limits)
    assert Settings(policy=policy).fingerprint() != Settings().fingerprint()


def test_the_shipped_limits_are_the_defaults_and_the_examples_valid_once_uncommented() -> None:
    shipped = (Path(__file__).parents[2] / "conf" / "client_policy.toml").read_text()
    shown = [line[2:] for line in shipped.split("# [activity]\n")[1].split("\n\n")[0].splitlines()]
    assert parse_policy("\n".join(["[activity]", *shown]), "x").activity == ActivityLimits()
    assert len(shown) == len(fields(ActivityLimits))
    lines = [
        line[2:] for line in shipped.splitlines() if line.startswith("# ") and (" = " in line or line.startswith("# ["))
    ]
    assert parse_policy("\n".join(lines), "x").judges


@pytest.mark.kip("KIP-35", 10)
def test_it_reads_the_versions_that_must_not_be_used() -> None:
    policy = parse_policy('[forbidden_versions]\nPRODUCE = ["0-2", "7"]\nFETCH = ["12+"]', "x")
    assert policy.forbidden_versions == (("FETCH", 12, 32767), ("PRODUCE", 0, 2), ("PRODUCE", 7, 7))


def test_every_api_has_a_name_that_the_policy_knows() -> None:
    for name in api_names().values():
        assert parse_policy(f'[forbidden_versions]\n{name} = ["0"]', "x").forbidden_versions == ((name, 0, 0),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = ", "not valid TOML"),
        ("unknown_software = 0x" + "f" * 5000,
            "unknown_software is a number of thousands of digits; use one of allowed"),
        ("software = 1", "software is 1; make it a table"),
        ("software.x = 1", ": software.x is 1; make it a table"),
        ("[software.x]\ne = 1\nd = 1\nc = 1\nb = 1\na = 1", "unknown property 'a'; known is minimum"),
        ("[severity]\nno_rule = 'off'", f"unknown rule 'no_rule'; known are {', '.join(sorted(rules()))}"),
        ("[software.x]\nminimum = 'new'", "minimum is 'new'"),
        ("unknown_software = 'maybe'", "use one of allowed, refused"),
        ("client_id_patterns = 'a'", "give a list of texts"),
        *((f"client_id_patterns = ['{one}']", f"patterns: '{one}' is no regular expression: ") for one in ("(a", "a**", "a{4294967296}")),
        ("[forbidden_versions]\nPRODUCES = ['1']", "forbidden_versions.PRODUCES: no such API"),
        ("[forbidden_versions]\nPRODUCE = '1'", "PRODUCE is '1'; give a list of versions"),
        ("[forbidden_versions]\nPRODUCE = ['3-1']", "'3-1' is no range of versions; write '3', '0-2' or '4+'"),
        ("activity = 3", "activity is 3; make it a table"),
        ("[activity]\nminute = 3",
            "activity: unknown property 'minute'; known are minutes, short_connections_per_minute"),
        ("[activity]\nminutes = 0", "activity.minutes is 0; give a whole number from 1 to 60"),
        ("[activity]\nminutes = 3.5", "activity.minutes is 3.5; give a whole number"),
        ("[activity]\nerrors_percent = 50", "errors_percent is 50; give a whole number from 51 to 100"),
        ("[activity]\nrequests_per_minute = 9000",
            "always is 6000, which is below requests_per_minute; give at least 9000"),
        ("[severity]\nclient_id_changed = 'fatal'", "use one of error, warning, info, off"),
    ],
)  # fmt: skip
def test_it_names_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=r"^p\.toml: ") as caught:
        parse_policy(text, "p.toml")
    assert says in str(caught.value)


def test_the_policy_that_comes_with_the_package_judges_nobody_and_is_no_setting_of_its_own() -> None:
    assert load_policy() == Settings().policy == Policy()
    assert not load_policy().judges
    with pytest.raises(ConfigError, match="unknown setting 'policy'"):
        load_settings(policy={})
    for name in ("/nowhere/policy.toml", "/", "a\0b"):
        with pytest.raises(ConfigError, match="cannot read the policy "):
            load_settings(client_policy=name)


@pytest.mark.parametrize("text", ["", "unknown", "main-2", "12345678901", "٣.1"])
def test_what_begins_with_no_number_is_unreadable(text: str) -> None:
    assert re.match(VERSION, text) is None
