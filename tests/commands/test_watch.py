"""What `watch` prints, posts and writes; tests/questions/test_alarms.py has what rings."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import watch
from tests.commands.conftest import Answer
from tests.commands.fleet_on_disk import DAY, HOSTILE, TARGET, failure, use
from tests.commands.receiver import receiver

BREAKS: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
OF_APP, OF_BESIDE = "10.78.0.2:9092-10.1.0.1:40000-7", "10.78.0.2:9092-10.1.0.8:40001-8"
USES = (
    use("old", "10.1.0.1", **BREAKS),
    use("new", "10.1.0.2", day=1, **BREAKS),
    use(HOSTILE, "10.1.0.3", day=1, **BREAKS),
    use("app", "10.1.0.1", connection_id=OF_APP, cluster="refused"),
    use("beside", "10.1.0.8", cluster="refused"),
    use("fine", "10.1.0.9", cluster="refused"),
    use("old", "10.1.0.1", info_only=True, cluster="info", **BREAKS),
)
ENDED = DAY + timedelta(hours=1, minutes=2)
FAILURES = (
    failure(OF_APP, "10.1.0.1", ENDED, cluster="refused"),
    failure(OF_BESIDE, "10.1.0.8", ENDED + timedelta(seconds=1), cluster="refused"),
)
"""The cluster c, and for metrics one with refused requests and one at INFO."""


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("owners") / "o.toml"
    path.write_text("[[owners]]\nowner = 'All'\nclient_ids = ['old']\n")
    return path


@pytest.fixture
def watched(warehouse: Path, ask: Any) -> Callable[..., Answer]:
    return lambda *words: ask("watch", "--warehouse", warehouse, "--cluster", "c", "--target", TARGET, *words)


def test_new_clients_that_break_make_the_exit_code_three(watched: Any) -> None:
    answer = watched("--since", "2026-11-22")
    header, *lines = answer.out.splitlines()
    assert (answer.code, header.split()) == (3, ["kind", "cluster", "first", "seen", "what"])
    text = "new (User:ANONYMOUS) would break at Kafka 4.0.1: PRODUCE v2, from 10.1.0.2"
    assert [text in line for line in lines].count(True) == 1
    assert not [line for line in lines if "old (" in line]
    assert "\u202e" not in answer.out
    document = watched("--since", "2026-11-22", "--json").json
    assert (document["target"], document["since"]) == (TARGET, {"c": "2026-11-22T00:00:00.000Z"})
    assert [alarm["kind"] for alarm in document["alarms"]] == ["breaks", "breaks"]


def test_one_run_is_compared_with_nothing_but_who_breaks_is_counted(watched: Any) -> None:
    answer = watched()
    text = "There is one run only of c: nothing to compare it with. 3 clients would break at Kafka 4.0.1 already"
    assert answer.code == 0
    assert f"{text}, as `kafka-clientinfo upgrade` says." in answer.out


def test_a_release_that_stands_for_another_is_named_beside_news_only(watched: Any) -> None:
    for since, code, is_named in (("2026-11-23", 0, False), ("2026-11-01", 3, True)):
        answer = watched("--target", "4.0", "--since", since)
        assert (answer.code, answer.err) == (code, "")
        assert ("Kafka 4.0 is judged as 4.0.1" in answer.out) == is_named
        assert ("Nothing new since 2026-11-23 00:00:00 UTC." in answer.out) != is_named


def test_it_is_posted_once_for_people_and_programs(watched: Any, owners: Path) -> None:
    with receiver() as (url, got):
        assert watched("--since", "2026-11-22", "--owners", owners, "--webhook", url).code == 3
        assert watched("--since", "2026-11-23", "--webhook", url).code == 0
    ((_, _, body),) = got
    assert [alarm["kind"] for alarm in body["alarms"]] == ["breaks", "breaks", "unowned"]
    assert len(body["text"].splitlines()) == 3  # a client's line break makes no line
    assert body["text"].splitlines()[2].endswith("are new, and have no owner")


def test_metrics_are_those_of_each_cluster(warehouse: Path, owners: Path, tmp_path: Path, ask: Any) -> None:
    """A refused client is no accepted one, and where those that are fine are not logged they have no number."""
    line = ("watch", "--warehouse", warehouse, "--target", TARGET, "--since", "2026-11-23", "--metrics", tmp_path / "m")
    assert ask(*line, "--owners", owners).code == 0
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("m", 0o644)]
    figures = dict(row.rsplit(" ", 1) for row in (tmp_path / "m").read_text("utf-8").splitlines() if row[0] != "#")
    of_c = {name: text for name, text in figures.items() if 'cluster="c"' in name and "log" not in name}
    verdict = 'kafka_clientinfo_clients{{cluster="{}",target="4.0.1",verdict="{}"}}'.format
    numbers = {"refused": "3"} | dict.fromkeys(("deprecated", "undecided", "accepted", "refused_already"), "0")
    numbers |= {"maybe_refused_already": "0", "maybe_upgraded": "0"}
    assert of_c == {verdict("c", name): number for name, number in numbers.items()} | {
        'kafka_clientinfo_unowned_clients{cluster="c"}': "2", 'kafka_clientinfo_refused_requests{cluster="c"}': "0",
    }  # fmt: skip
    ones = {
        name: figures[verdict("refused", name)] for name in ("accepted", "refused_already", "maybe_refused_already")
    }
    assert (set(ones.values()), figures[verdict("refused", "refused")]) == ({"1"}, "0")
    assert (figures[verdict("info", "refused")], verdict("info", "accepted") in figures) == ("1", False)
    assert ask(*line).code == 0
    assert "unowned" not in (tmp_path / "m").read_text("utf-8")


def test_a_label_is_one_text() -> None:
    (line,) = list(watch._gauge("x", "X.", [({"broker": 'a"b\\c\nd'}, 1)]))[2:]
    assert line == r'kafka_clientinfo_x{broker="a\"b\\c\ufffdd"} 1'.replace(r"\ufffd", "\ufffd")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--metrics", ""), 2, "--metrics is ''; name a file"),
        (("--metrics", "/nowhere/m"), 1, "--metrics /nowhere/m cannot be written"),
        (("--cluster", "d"), 2, "it has those of 'c', 'info', 'refused'"),
    ],
)
def test_wrong_arguments_are_named(words: tuple[str, ...], code: int, says: str, watched: Any) -> None:
    answer = watched("--since", "2026-11-23", *words)
    assert answer.code == code
    assert says in answer.err
