"""Bytes to lines, of which no more than a limit is kept."""

import re
from collections.abc import Iterator

import pytest

from kafka_clientinfo.logs import framing
from kafka_clientinfo.logs.layouts import Layout
from kafka_clientinfo.logs.line_records import Kept
from kafka_clientinfo.logs.unwrapping import LineSplitter


class PhysicalLines:
    """The lines of a splitter's blocks."""

    def __init__(self) -> None:
        self._splitter = LineSplitter(0, False, Layout(False), True)

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        return self._splitter._physical_lines(block)

    @property
    def rest(self) -> Kept:
        return self._splitter._rest


@pytest.mark.parametrize("step", [1, 2, 3, 100])
@pytest.mark.parametrize("data", [b"\n", b"\na\n", b"a\n\nb\n", b"a", b""])
def test_it_cuts_lines_however_the_blocks_are_cut(step: int, data: bytes) -> None:
    lines = PhysicalLines()
    found = [line for at in range(0, len(data), step) for line in lines.feed(data[at : at + step])]
    whole = re.findall(rb"[^\n]*\n", data)
    assert found == [(line, len(line)) for line in whole]
    assert lines.rest.join() == data[sum(map(len, whole)) :]


@pytest.mark.parametrize(("more", "kept"), [(0, 64), (1, 60), (4, 60), (40, 60)])
def test_it_keeps_head_and_tail_of_what_is_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, more: int, kept: int
) -> None:
    for name, value in (("MAX_RECORD", 64), ("KEPT_HEAD", 40), ("KEPT_TAIL", 20)):
        monkeypatch.setattr(framing, name, value)
    data = bytes(range(64 + more))
    lines, bytes_kept = PhysicalLines(), Kept()
    assert list(lines.feed(data.replace(b"\n", b"x"))) == []
    bytes_kept.add(data)
    assert (lines.rest.length, bytes_kept.length) == (64 + more, 64 + more)
    assert (len(lines.rest.join()), len(bytes_kept.join())) == (kept, kept)
    assert bytes_kept.join() == data[:40] + data[len(data) - kept + 40 :]
    assert list(lines.feed(b"\n")) == [(lines_end(data, kept), 65 + more)]


def lines_end(data: bytes, kept: int) -> bytes:
    if kept == len(data):  # the line end is one byte too many
        return data[:40].replace(b"\n", b"x") + data[-19:] + b"\n"
    return (data[:40] + data[len(data) - kept + 40 :]).replace(b"\n", b"x") + b"\n"


@pytest.mark.parametrize("step", [1, 7, 30, 64, 200])
def test_lines_after_a_long_one_are_whole_and_all_have_their_lengths(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    for name, value in (("MAX_RECORD", 64), ("KEPT_HEAD", 40), ("KEPT_TAIL", 20)):
        monkeypatch.setattr(framing, name, value)
    stream = b"a" * 300 + b"\n" + b"b" * 60 + b"\n" + b"c" * 200 + b"\nd\n"
    lines = PhysicalLines()
    found = [line for at in range(0, len(stream), step) for line in lines.feed(stream[at : at + step])]
    assert [length for _, length in found] == [301, 61, 201, 2]
    assert [line for line, _ in found[1::2]] == [b"b" * 60 + b"\n", b"d\n"]
    assert (lines.rest.join(), lines.rest.length) == (b"", 0)


def test_it_keeps_head_and_tail_of_what_is_added_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_RECORD", 64), ("KEPT_HEAD", 40), ("KEPT_TAIL", 20)):
        monkeypatch.setattr(framing, name, value)
    kept = Kept()
    for letter, expected in (
        (b"a", b"a" * 30),
        (b"b", b"a" * 30 + b"b" * 30),
        (b"c", b"a" * 30 + b"b" * 10 + b"c" * 20),
        (b"d", b"a" * 30 + b"b" * 10 + b"d" * 20),
    ):
        kept.add(letter * 30)
        assert kept.join() == expected
    kept.add(b"ef", 1000)  # the true length of a part that was shortened before
    assert (kept.join(), kept.length) == (b"a" * 30 + b"b" * 10 + b"d" * 20 + b"ef", 1120)


def test_nothing_kept_is_nothing() -> None:
    kept = Kept()
    assert (kept.join(), kept.length) == (b"", 0)
