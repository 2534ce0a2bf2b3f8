"""What `watch` prints, posts and writes; tests/questions/test_alarms.py has what rings."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import watch
from tests.commands.fleet_on_disk import DAY, HOSTILE, TARGET, failure, fleet, use
from tests.commands.receiver import receiver

BREAKS: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
OWNERS = "[[owners]]\nowner = 'All'\nclient_ids = ['old']\n"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    uses = (
        use("old", "10.1.0.1", **BREAKS),
        use("new", "10.1.0.2", day=1, **BREAKS),
        use(HOSTILE, "10.1.0.3", day=1, **BREAKS),
    )
    return fleet(tmp_path_factory.mktemp("watch") / "w", uses)


def watched(warehouse: Path, *arguments: str) -> int:
    return cli.main(["watch", "--target", TARGET, "--warehouse", str(warehouse), *arguments])


def test_new_clients_that_break_make_the_exit_code_three(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(warehouse, "--since", "2026-11-22") == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kind", "cluster", "first", "seen", "what"]
    assert [
        line for line in lines if "new (User:ANONYMOUS) would break at Kafka 4.0.1: PRODUCE v2, from 10.1.0.2" in line
    ]
    assert not [line for line in lines if "old (" in line]
    assert "\u202e" not in "".join(lines)


def test_nothing_new_is_said(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(warehouse, "--since", "2026-11-23") == 0
    assert "Nothing new since 2026-11-23 00:00:00 UTC." in capsys.readouterr().out


def test_one_run_is_compared_with_nothing_but_who_breaks_is_counted(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watched(warehouse) == 0
    text = "There is one run only of c: nothing to compare it with. 3 clients would break at Kafka 4.0.1 already"
    assert f"{text}, as `kafka-clientinfo upgrade` says." in capsys.readouterr().out


def test_a_release_that_stands_for_another_is_named_beside_news_only(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["watch", "--warehouse", str(warehouse), "--target", "4.0", "--since"]
    assert cli.main([*line, "2026-11-23"]) == 0
    out, err = capsys.readouterr()
    assert ("judged as" in out, err) == (False, "")
    cli.main([*line, "2026-11-01"])
    out, err = capsys.readouterr()
    assert ("Kafka 4.0 is judged as 4.0.1" in out, err) == (True, "")


def test_of_one_cluster_only_its_news_is_said(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(warehouse, "--since", "2026-11-22", "--cluster", "c") == 3
    assert watched(warehouse, "--since", "2026-11-22", "--cluster", "d") == 2
    assert "d" in capsys.readouterr().err


def test_json_says_what_was_compared(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(warehouse, "--since", "2026-11-22", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["target"], document["since"]) == (TARGET, {"c": "2026-11-22T00:00:00.000Z"})
    assert {alarm["kind"] for alarm in document["alarms"]} == {"breaks"}
    assert len(document["alarms"]) == 2


def test_it_is_posted_once_for_people_and_programs(warehouse: Path, tmp_path: Path) -> None:
    owners = tmp_path / "o.toml"
    owners.write_text(OWNERS)
    with receiver() as (url, got):
        assert watched(warehouse, "--since", "2026-11-22", "--owners", str(owners), "--webhook", url) == 3
        assert watched(warehouse, "--since", "2026-11-23", "--webhook", url) == 0
    ((_, _, body),) = got
    assert [alarm["kind"] for alarm in body["alarms"]] == ["breaks", "breaks", "unowned"]
    assert len(body["text"].splitlines()) == 3  # a client's line break makes no line
    assert body["text"].splitlines()[2].endswith("are new, and have no owner")


def test_metrics_are_those_of_the_whole_warehouse(warehouse: Path, tmp_path: Path) -> None:
    owners, file = tmp_path / "o.toml", tmp_path / "m.prom"
    owners.write_text(OWNERS)
    assert watched(warehouse, "--since", "2026-11-23", "--owners", str(owners), "--metrics", str(file)) == 0
    lines = file.read_text("utf-8").splitlines()
    assert 'kafka_clientinfo_clients{cluster="c",target="4.0.1",verdict="refused"} 3' in lines
    assert 'kafka_clientinfo_unowned_clients{cluster="c"} 2' in lines
    assert 'kafka_clientinfo_refused_requests{cluster="c"} 0' in lines
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("o.toml", "m.prom")] == []
    assert watched(warehouse, "--since", "2026-11-23", "--metrics", str(file)) == 0
    assert "unowned" not in file.read_text("utf-8")


def test_a_refused_client_is_no_accepted_one_in_the_metrics(tmp_path: Path) -> None:
    of_app, file = "10.78.0.2:9092-10.1.0.1:40000-7", tmp_path / "m.prom"
    uses = [use("app", "10.1.0.1", connection_id=of_app), use("beside", "10.1.0.8"), use("fine", "10.1.0.9")]
    at = DAY + timedelta(hours=1, minutes=2)
    failures = [
        failure(of_app, "10.1.0.1", at),
        failure("10.78.0.2:9092-10.1.0.8:40001-8", "10.1.0.8", at + timedelta(seconds=1)),
    ]
    assert watched(fleet(tmp_path / "w", uses, failures=failures), "--since", "2026-11-23", "--metrics", str(file)) == 0
    of_clients = [line for line in file.read_text("utf-8").splitlines() if line.startswith("kafka_clientinfo_clients")]
    numbers = {line.split('verdict="')[1].split('"')[0]: line.rsplit(" ", 1)[1] for line in of_clients}
    ones = {"accepted": "1", "refused_already": "1", "maybe_refused_already": "1"}
    assert numbers == {"refused": "0", "deprecated": "0", "undecided": "0"} | ones


def test_clients_that_are_fine_have_no_number_where_they_are_not_logged(tmp_path: Path) -> None:
    root, file = fleet(tmp_path / "w", [use("old", "10.1.0.1", info_only=True, **BREAKS)]), tmp_path / "m.prom"
    assert watched(root, "--since", "2026-11-23", "--metrics", str(file)) == 0
    assert 'verdict="refused"} 1' in file.read_text("utf-8")
    assert 'verdict="accepted"' not in file.read_text("utf-8")


def test_a_label_is_one_text() -> None:
    (line,) = list(watch._gauge("x", "X.", [({"broker": 'a"b\\c\nd'}, 1)]))[2:]
    assert line == r'kafka_clientinfo_x{broker="a\"b\\c\ufffdd"} 1'.replace(r"\ufffd", "\ufffd")


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [("", 2, "--metrics is ''; name a file"), ("/nowhere/m", 1, "--metrics /nowhere/m cannot be written")],
)
def test_a_file_that_cannot_be_written_is_named(
    path: str, code: int, says: str, warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watched(warehouse, "--since", "2026-11-23", "--metrics", path) == code
    assert says in capsys.readouterr().err
