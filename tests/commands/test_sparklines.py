"""Numbers over time as characters, in blocks or in ASCII."""

import io
import sys
from types import SimpleNamespace

import pytest

from kafka_clientinfo.commands.activity import ASCII, BLOCKS, Marks, marks
from kafka_clientinfo.printable import safe


@pytest.mark.parametrize("kind", [BLOCKS, ASCII])
def test_marks_are_nine_harmless_characters(kind: Marks) -> None:
    characters = kind.none + kind.levels
    assert len(set(characters)) == 9
    assert safe(characters) == characters


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ([], ""),
        ([0, 0], "··"),
        ([1], "█"),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], "·▁▂▃▄▅▆▇█"),
        ([1, 1000], "▁█"),
        ([125, 126, 1000], "▁▂█"),
        ([10**18, 1], "█▁"),
    ],
)
def test_the_most_is_the_highest_and_only_zero_is_none(numbers: list[int], line: str) -> None:
    assert BLOCKS.line(numbers) == line
    assert len(ASCII.line(numbers)) == len(line)


@pytest.mark.parametrize(
    ("encoding", "term", "expected"),
    [
        ("utf-8", "xterm-256color", BLOCKS),
        ("UTF-8", None, BLOCKS),
        ("utf-8", "dumb", ASCII),
        ("utf-8", "linux", ASCII),
        ("ascii", "xterm", ASCII),
        ("latin-1", "xterm", ASCII),
        (None, "xterm", ASCII),
        ("nonesuch", "xterm", ASCII),
    ],
)
def test_blocks_are_for_those_who_can_show_them(
    encoding: str | None, term: str | None, expected: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(encoding=encoding, write=io.StringIO().write))
    assert marks() == expected


def test_where_not_all_was_logged_nothing_is_a_blank_and_something_is_shown() -> None:
    assert BLOCKS.line([0, 0, 3, 0], {0, 3}) == "· █·"
    assert ASCII.line([0, 0, 3], set()) == "  @"
