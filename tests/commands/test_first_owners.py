"""A file of owners to begin with, and what a file of owners leaves open: clients of nobody, and rules without a client."""

import stat
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import first_owners
from kafka_clientinfo.config.owners import load_owners
from tests.commands.fleet_on_disk import HOSTILE, fleet, use

USES = (
    use("app-1", "10.1.0.1", principal="User:pay.ments"),
    use("app-2", "10.1.0.2", principal="User:pay.ments"),
    use("search-17", "10.2.0.1"),
    use("search-18", "10.2.0.2"),
    use("search-19", "10.2.0.3"),
    use(HOSTILE, "10.3.0.1"),
    use(None, "10.3.0.2", principal=None),
    use("broker", "10.4.0.1", role="broker"),
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(fleet(tmp_path_factory.mktemp("owners") / "w", USES))


def test_it_begins_with_a_rule_for_each_principal_or_kind_of_client_id(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "owners.toml"
    assert cli.main(["clients", "--warehouse", warehouse, "--init-owners", str(path)]) == 0
    assert capsys.readouterr().out == f"Wrote {path}; correct the owners in it, then give it with --owners.\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    owners = load_owners(str(path))
    assert [(rule.owner.name, {kind: texts for kind, texts in rule.patterns.items() if texts}) for rule in owners.rules] == [
        ("pay.ments", {"principals": (r"User:pay\.ments",)}),
        ("search", {"client_ids": (r"search-\d+",)}),
    ]  # fmt: skip
    assert "# 3 connections from 3 hosts, such as 10.2.0.1\n" in path.read_text("utf-8")
    assert cli.main(["clients", "--warehouse", warehouse, "--init-owners", str(path)]) == 2
    assert "is there already; name a new file" in capsys.readouterr().err


UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
ROLE = "[IAM]:[arn:aws:sts::111122223333:assumed-role/orders/i-0"


@pytest.mark.parametrize(
    ("uses", "lines"),
    [
        (
            [use("app", "10.1.0.1", principal=f"{ROLE}{end}]") for end in "ab"],
            ["# 2 connections from 1 host, such as 10.1.0.1", f"# {ROLE}a], {ROLE}b]", "[[owners]]", "owner = 'orders'",
             "principals = ['.*assumed-role/orders/.*']"],
        ),
        (
            [use("app-1", None, topics=["a"]), use("app-2", None, topics=["b"])],
            ["# 1 connection, hosts masked or not logged", "[[owners]]", "owner = 'app-1'", "client_ids = ['app-1']",
             "# 1 connection, hosts masked or not logged", "[[owners]]", "owner = 'app-2'", "client_ids = ['app-2']"],
        ),
        (
            [use("app-1", "10.1.0.1", topics=["a"]), use("app-2", "10.1.0.2", topics=["a"])],
            ["# 2 connections from 2 hosts, such as 10.1.0.1", "# app-1, app-2", "[[owners]]", "owner = 'app'",
             r"client_ids = ['app-\d+']"],
        ),
        (
            [use(name, "10.1.0.1") for name in ("j332-c1", "j01022-c1", "j01022-c2")],
            ["# 2 connections from 1 host, such as 10.1.0.1", "# j01022-c1, j01022-c2", "[[owners]]", "owner = 'j01022-c'",
             r"client_ids = ['j01022-c\d+']",
             "# 1 connection from 1 host, such as 10.1.0.1", "[[owners]]", "owner = 'j332-c'", r"client_ids = ['j332-c\d+']"],
        ),
        (
            [use(name, "10.1.0.1") for name in ("app-1-x", "app-2-x", f"job-{UUID}")],
            ["# 2 connections from 1 host, such as 10.1.0.1", "# app-1-x, app-2-x", "[[owners]]", "owner = 'app-x'",
             r"client_ids = ['app-\d+-x']",
             "# 1 connection from 1 host, such as 10.1.0.1", "[[owners]]", "owner = 'job'", "client_ids = ['job-[0-9a-f-]{36}']"],
        ),
        (
            [use("consumer-pay.all-1", "10.1.0.1")],
            ["# 1 connection from 1 host, such as 10.1.0.1", "[[owners]]", "owner = 'pay.all'",
             r"client_ids = ['consumer-pay\.all-\d+']"],
        ),
        (
            [use("it's", "10.1.0.1")],
            ["# 1 connection from 1 host, such as 10.1.0.1", "[[owners]]", 'owner = "it\'s"', 'client_ids = ["it\'s"]'],
        ),
        (
            [use(name, "10.1.0.1") for name in (
                "consumer-1", "consumer-console-consumer-77-1", "console-producer", "kgo", "producer-12", "rdkafka", "sarama",
            )],
            ["# These client ids are chosen by libraries or tools, and belong to nobody: give owners by hosts, groups or topics.",
             *(f"#   {name}: 1 connection from 1 host, such as 10.1.0.1" for name in (
                 "console-producer", "consumer-1", "consumer-console-consumer-77-1", "kgo", "producer-12", "rdkafka", "sarama",
             ))],
        ),
    ],
    ids=["one role", "two programs", "one program", "numbers in names", "numbers between", "a group", "a quote", "of nobody"],
)  # fmt: skip
def test_it_guesses_one_rule_for_a_program(
    uses: list[dict[str, Any]], lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = {
        ("c", one.get("principal", "User:ANONYMOUS"), one["client_id"], "kgo", "v1.0"): one.get("topics", ())
        for one in uses
    }
    monkeypatch.setattr(first_owners, "topics_of_clients", lambda _: topics)
    path = tmp_path / "owners.toml"
    assert cli.main(["clients", "--warehouse", str(fleet(tmp_path / "w", uses)), "--init-owners", str(path)]) == 0
    _, _, rules = path.read_text("utf-8").partition("rules.\n")
    assert list(filter(None, rules.splitlines())) == lines
    if "[[owners]]" in lines:
        assert len(load_owners(str(path)).rules) == lines.count("[[owners]]")


def test_beside_owners_it_has_rules_for_the_rest_and_names_idle_ones(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (known := tmp_path / "known.toml").write_text(
        "[[owners]]\nowner = 'S'\nclient_ids = ['search-.*']\n[[owners]]\nowner = 'Gone'\nclient_ids = ['gone']\n"
    )
    path, all_known = tmp_path / "more.toml", tmp_path / "all.toml"
    line = ["clients", "--warehouse", warehouse, "--owners"]
    assert cli.main([*line, str(known), "--init-owners", str(path)]) == 0
    assert capsys.readouterr().out.endswith(
        "Rules for owners that fit no client, or only those of earlier rules: 2 (Gone).\n"
    )
    assert [rule.owner.name for rule in load_owners(str(path)).rules] == ["pay.ments"]
    all_known.write_text(
        "[[owners]]\nowner = 'all'\nprincipals = ['.*']\nclient_ids = ['.*']\n[[owners]]\nowner = 'b'\nhosts = ['0.0.0.0/0']\n"
    )
    assert cli.main([*line, str(all_known), "--init-owners", str(tmp_path / "no.toml")]) == 2
    assert "No client without an owner is in the logs that were read" in capsys.readouterr().err


def test_without_clients_no_file_is_written(warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["clients", "--warehouse", warehouse, "--since", "2030-01-01", "--init-owners", str(tmp_path / "o")]
    assert cli.main(line) == 2
    assert "No client fits --since 2030-01-01" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_clients_of_nobody_come_first_and_rules_without_a_client_are_named(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "owners.toml"
    rules = (r"client_ids = ['search-\d+']", "client_ids = ['gone']", "client_ids = ['search-17']")
    path.write_text("".join(f"[[owners]]\nowner = 'o{place}'\n{rule}\n" for place, rule in enumerate(rules)))
    line = ["clients", "--warehouse", warehouse, "--owners", str(path)]
    idle = "Rules for owners that fit no client, or only those of earlier rules: 2 (o1), 3 (o2)."
    assert cli.main(line) == 0
    text = capsys.readouterr().out
    assert idle in text
    assert "search-17" not in text
    places = [text.index(name) for name in ("2 ids: app-#", "3 ids: search-#", "Client ids that differ by numbers")]
    assert places == sorted(places)
    assert cli.main([*line, "--client", "search-*"]) == 0
    text = capsys.readouterr().out
    assert text.index("search-17") < text.index("search-19")
    assert cli.main([*line, "--by", "owner"]) == 0
    text = capsys.readouterr().out
    assert idle in text
    assert [row.split()[0] for row in text.splitlines()[1:3]] == ["no", "o0"]
