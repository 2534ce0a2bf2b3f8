"""The command `activity`: its columns on narrow and wide terminals, notes, and the order of `scan --activity`."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.commands.activity import ASCII, BLOCKS, Marks, marks
from tests.commands.fleet_on_disk import HOSTILE, use
from tests.questions.activity_on_disk import activity, sent

USES = (
    use("pay", "10.1.0.1", requests=40), use("search", "10.2.0.1", "FETCH", requests=30),
    use("search", "10.1.0.2", "FETCH", requests=20), use("other", "10.2.0.1", requests=10),
    use(HOSTILE, "10.2.0.1", requests=5, principal=None), use("pay", "10.1.0.1", requests=1),  # the sixth gets errors
)  # fmt: skip


@pytest.fixture
def shown(warehouse: Path, monkeypatch: pytest.MonkeyPatch, ask: Any) -> Callable[..., str]:
    monkeypatch.setenv("TERM", "xterm")
    return lambda *words: ask("activity", *words, "--warehouse", warehouse).out


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
    shown: Any, monkeypatch: pytest.MonkeyPatch, width: int | None, words: tuple[str, ...], missing: set[str]
) -> None:
    monkeypatch.setattr(text_tables, "terminal_width", lambda: width)
    text = shown("--cluster", "c", "--client", "*", *words)
    figures = ("requests", "opened", "errors", "p50 ms", "p99 ms", "max ms", "throttled", "throttle ms")
    header = next(line for line in text.splitlines() if "requests" in line)
    assert {name for name in figures if name not in header} == missing
    assert ("On a wider terminal there are more columns" in text) == bool(missing)
    assert width is None or max(map(len, text.splitlines())) <= width


def test_notes_and_characters_fit_the_question_and_the_terminal(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = "They leave out requests that wait for others: FETCH, SHARE_FETCH, JOIN_GROUP, SYNC_GROUP."
    texts = [" ".join(shown(*words).split()) for words in ((), ("--top", "p99", "--by", "api"), ("--by", "api"))]
    assert [left_out in text for text in texts] == [True, True, False]
    assert "whole buckets of 60 minutes: from 2026-11-21 01:00 UTC" in shown("--since", "2026-11-21T01:30")
    monkeypatch.setenv("TERM", "linux")
    assert shown("--principal", "User:*").isascii()


def test_the_order_of_activity_is_for_a_scan_with_activity(ask: Any) -> None:
    answer = ask("scan", "sample_logs", "--top", "p99")
    assert answer.code == 2
    assert "--top is for --activity" in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--client", "nobody"), "No request fits --client nobody; the warehouse has the client ids "),
        (("--client", "other", "--top", "errors"), "No response has an error code."),
    ],
)
def test_an_empty_answer_says_why(shown: Any, words: tuple[str, ...], says: str) -> None:
    assert says in shown(*words)
    assert shown(*words, "--json") == "[]\n"


@pytest.mark.parametrize(("built_with", "setting", "rows"), [(60, 30, 1), (30, 60, 0)])
def test_a_bucket_is_as_long_as_in_the_build(
    tmp_path: Path, ask: Any, built_with: int, setting: int, rows: int
) -> None:
    root, conf = activity(tmp_path / "w", [sent(1.0)], built_with), tmp_path / "conf.toml"
    conf.write_text(f"bucket_minutes = {setting}\n")
    line = ("activity", "--warehouse", root, "--json", "--since", "2026-11-21T02:30", "--conf", conf)
    assert len(ask(*line).json) == rows


@pytest.mark.parametrize(
    ("numbers", "logged", "line"),
    [
        ([], None, ""),
        ([0, 0], None, "··"),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], None, "·▁▂▃▄▅▆▇█"),
        ([125, 126, 1000], None, "▁▂█"),
        ([10**18, 1], None, "█▁"),
        ([0, 0, 3, 0], {0, 3}, "· █·"),  # where not all was logged, nothing is a blank
        ([0, 0, 3], set(), "  █"),
    ],
)
def test_the_most_is_the_highest_and_only_zero_is_none(numbers: list[int], logged: Any, line: str) -> None:
    assert BLOCKS.line(numbers, logged) == line
    assert ASCII.line(numbers, logged) == line.translate(
        str.maketrans(BLOCKS.none + BLOCKS.levels, ASCII.none + ASCII.levels)
    )


@pytest.mark.parametrize(
    ("encoding", "term", "expected"),
    [("utf-8", "xterm-256color", BLOCKS), ("UTF-8", None, BLOCKS), ("utf-8", "dumb", ASCII), ("utf-8", "linux", ASCII),
     ("ascii", "xterm", ASCII), ("latin-1", "xterm", ASCII), (None, "xterm", ASCII), ("nonesuch", "xterm", ASCII)],
)  # fmt: skip
def test_blocks_are_for_terminals_with_them(
    encoding: str | None, term: str | None, expected: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(encoding=encoding, write=io.StringIO().write))
    assert marks() == expected
