"""The command `activity`: its forms, its columns on narrow and wide terminals, owners, notes, and `scan --activity`."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import text_tables
from tests.commands.fleet_on_disk import HOSTILE, fleet, use
from tests.commands.transcripts import ROOT, golden
from tests.questions.activity_on_disk import activity, sent


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clients of two owners, one of both, one of none, and one with a hostile id."""
    uses = (
        use("pay", "10.1.0.1", requests=40),
        use("search", "10.2.0.1", "FETCH", requests=30),
        use("search", "10.1.0.2", "FETCH", requests=20),
        use("other", "10.2.0.1", requests=10),
        use(HOSTILE, "10.2.0.1", requests=5, principal=None),
        use("pay", "10.1.0.1", requests=1),  # the sixth gets errors
    )
    return fleet(tmp_path_factory.mktemp("activity") / "w", uses)


@pytest.fixture
def answer(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("TERM", "xterm")
    capsys.readouterr()

    def ask(*words: str) -> str:
        assert cli.main(["activity", *words, "--warehouse", str(root)]) == 0
        return capsys.readouterr().out

    return ask


def test_the_documentation_shows_what_the_command_prints() -> None:
    printed = golden("activity_limited").removeprefix("exit code 0\n").rstrip()
    assert f"```text\n{printed}\n```" in (ROOT / "docs" / "howto" / "activity.md").read_text("utf-8")


def test_text_on_a_terminal_of_few_characters_is_ascii(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    assert answer("--principal", "User:*").isascii()


@pytest.mark.parametrize(
    ("width", "words", "missing"),
    [
        (None, (), set()),
        (200, (), set()),
        (120, (), {"max ms", "throttled"}),
        (80, (), {"max ms", "throttled", "p50 ms", "throttle ms"}),
        (80, ("--top", "throttle"), {"max ms", "p50 ms", "opened", "errors"}),
    ],
)
def test_columns_fit_on_the_terminal(
    answer: Any, monkeypatch: pytest.MonkeyPatch, width: int | None, words: tuple[str, ...], missing: set[str]
) -> None:
    monkeypatch.setattr(text_tables, "terminal_width", lambda: width)
    text = answer("--cluster", "c", "--client", "*", *words)
    figures = ("requests", "opened", "errors", "p50 ms", "p99 ms", "max ms", "throttled", "throttle ms")
    header = next(line for line in text.splitlines() if "requests" in line)
    assert {name for name in figures if name not in header} == missing
    assert ("On a wider terminal there are more columns" in text) == bool(missing)
    assert width is None or max(map(len, text.splitlines())) <= width


def test_the_slowest_say_which_requests_do_not_count(answer: Any) -> None:
    left_out = "They leave out requests that wait for others: FETCH, SHARE_FETCH, JOIN_GROUP, SYNC_GROUP."
    assert left_out in " ".join(answer().split())
    assert left_out in " ".join(answer("--top", "p99", "--by", "api").split())
    assert "They leave out" not in answer("--by", "api")


def test_the_order_of_activity_is_for_a_scan_with_activity(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scan", "sample_logs", "--top", "p99"]) == 2
    assert "--top is for --activity" in capsys.readouterr().err


def test_owners_need_a_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["activity", "--by", "owner", "--warehouse", str(root)]) == 2
    assert "--by owner needs owners" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--client", "nobody"), "No request fits --client nobody; the warehouse has the client ids "),
        (("--since", "2100-01-01"), "No request fits --since 2100-01-01; the warehouse has connections from "),
        (("--client", "other", "--top", "errors"), "No response has an error code."),
    ],
)
def test_an_empty_answer_says_why(answer: Any, words: tuple[str, ...], says: str) -> None:
    assert says in answer(*words)
    assert json.loads(answer(*words, "--json")) == []


def test_whole_buckets_are_named(answer: Any) -> None:
    assert "whole buckets of 60 minutes: from 2026-11-21 01:00 UTC" in answer("--since", "2026-11-21T01:30")
    assert "whole buckets" not in answer("--since", "2026-11-21T01:00")


@pytest.mark.parametrize(("built_with", "setting", "rows"), [(60, 30, 1), (30, 60, 0)])
def test_the_length_of_a_bucket_is_that_of_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], built_with: int, setting: int, rows: int
) -> None:
    root, conf = activity(tmp_path / "w", [sent(1.0)], built_with), tmp_path / "conf.toml"
    conf.write_text(f"bucket_minutes = {setting}\n")
    words = ["activity", "--warehouse", str(root), "--json", "--since", "2026-11-21T02:30", "--conf", str(conf)]
    assert cli.main(words) == 0
    assert len(json.loads(capsys.readouterr().out)) == rows
