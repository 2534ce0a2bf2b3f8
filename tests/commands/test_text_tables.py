"""Text on terminals: columns that fit, values named once, a block of lines for each row, colours, and what is under way."""

import logging
from io import StringIO
from typing import Any

import pytest

from kafka_clientinfo.commands import context, text_tables
from kafka_clientinfo.commands.context import ProgressLine, progress_line
from kafka_clientinfo.commands.text_tables import Grid
from kafka_clientinfo.errors import ClientInfoError
from kafka_clientinfo.warehouse.stages import log, say

WIDE, ACCENT = "日本", "e\u0301"
ADVICE = "upgrade to Apache Kafka's Java client 2.1 or later"
COLOURS = {"error": "31"}


class Terminal(StringIO):
    """Notes what it has shown at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[str] = []

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.flushed.append(self.getvalue())


def grid(header: tuple[str, ...], *rows: tuple[Any, ...], indent: str = "", whole: Any = frozenset()) -> Grid:
    return Grid(header, rows, whole, indent)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (None, ["cluster      n  who", "default  1,000  alice", "default      2  bob"]),
        (21, ["cluster      n  who", "default  1,000  alice", "default      2  bob"]),
        (20, ["cluster: default", "    n  who", "1,000  alice", "    2  bob"]),
        (12, ["cluster: default", "    n  who", "1,000  alice", "    2  bob"]),
        (11, ["cluster: default", "", "n    1,000", "who  alice", "", "n    2", "who  bob"]),
    ],
)
def test_the_width_decides(width: int | None, lines: list[str]) -> None:
    cells = grid(("cluster", "n", "who"), ("default", 1000, "alice"), ("default", 2, "bob"))
    assert cells.laid_out(width, {}).text.splitlines() == lines
    of_a_part = Grid(cells.header, cells.rows, is_part=True).laid_out(20, {}).text
    assert of_a_part.splitlines()[0] == "cluster: default (in the rows shown)"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([], ["a  long"]),
        ([("x" * 9, "y" * 9)], ["a     xxxxxxxxx", "long  yyyyyyyyy"]),
        ([("x" * 9, "y" * 9)] * 2, ["a     xxxxxxxxx", "long  yyyyyyyyy"] * 2),
        ([("-", "y" * 25, "z")], ["long  " + "y" * 25, "n     z"]),
        ([("", "y" * 25, "z")], ["long  " + "y" * 25, "n     z"]),
        ([("a b " * 7, "y" * 9)], ["a", "  a b a b a b a b a b", "  a b a b", "long  yyyyyyyyy"]),
    ],
    ids=["no row", "one row", "equal rows", "no value", "empty", "folded"],
)
def test_a_row_that_does_not_fit_is_a_block(rows: list[tuple[str, str]], lines: list[str]) -> None:
    text = grid(("a", "long", "n")[: max(map(len, rows), default=2)], *rows).laid_out(15, {}).text
    assert [line for line in text.splitlines() if line] == lines


@pytest.mark.parametrize(
    ("width", "widths"), [(200, [100, 40]), (100, [58, 40]), (60, [29, 29]), (26, [12, 12]), (25, None)]
)
def test_the_longest_texts_are_shortened_first(width: int, widths: list[int] | None) -> None:
    rows = [("x" * (8 if number else 100), f"{number:040}") for number in range(20)]
    layout = grid(("name", "id"), *rows).laid_out(width, {})
    assert layout.in_blocks is (widths is None)
    if widths is not None:
        lines = layout.text.split("\n")
        assert [len(text) for text in lines[1].split("  ")] == widths
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize(
    ("title", "given", "shown", "is_cut"),
    [
        ("who", {}, "x " * 22 + "…  1", True),
        ("what to do", {}, None, False),
        ("who", {"whole": {"who"}}, None, False),
    ],
    ids=["a text is shortened", "prose is not", "what stays whole is not"],
)
def test_prose_and_what_stays_whole_are_not_cut(
    title: str, given: dict[str, Any], shown: str | None, is_cut: bool
) -> None:
    layout = grid((title, "n"), ("x " * 30, 1), ("y", 2), **given).laid_out(48, {})
    assert layout.is_cut is is_cut
    assert layout.in_blocks is (shown is None)
    if shown is not None:
        assert layout.text.split("\n")[1] == shown


@pytest.mark.parametrize(
    ("title", "characters", "is_cut"),
    [("who", 500, False), ("who", 501, True), ("found", 500, False), ("found", 501, True), ("grep", 2000, False)],
)
def test_a_text_on_a_terminal_has_five_hundred_characters_at_most(title: str, characters: int, is_cut: bool) -> None:
    for width in (13, 3000):
        layout = grid((title, "n"), ("x" * characters, 1)).laid_out(width, {})
        assert layout.in_blocks is (width == 13)
        assert layout.is_cut is is_cut
        assert ("x" * characters in layout.text) is not is_cut


def test_a_block_has_colours_and_the_indent_of_its_table() -> None:
    cells = grid(("severity", "what to do"), ("error", ADVICE), ("info", "no"), indent="  ")
    assert cells.laid_out(30, COLOURS).text.split("\n") == [
        "  \x1b[1mseverity\x1b[0m    \x1b[31merror\x1b[0m", "  \x1b[1mwhat to do\x1b[0m",
        "    upgrade to Apache Kafka's", "    Java client 2.1 or later", "", "  \x1b[1mseverity\x1b[0m    info",
        "  \x1b[1mwhat to do\x1b[0m  no",
    ]  # fmt: skip


def test_without_blocks_a_row_is_a_line() -> None:
    cells = grid(("a", "b", "what to do"), ("same", "x" * 90, ADVICE), ("same", "y", "no"))
    layout = cells.laid_out(20, {}, blocks=False)
    assert not layout.in_blocks
    assert layout.text.split("\n")[0] == "a: same"
    assert len(layout.text.split("\n")) == 4


@pytest.mark.parametrize(
    ("header", "rows", "options", "shown"),
    [
        (("n", "x"), [(100, "-"), ("-", "-")], {"indent": ""}, "  n  x\n100  -\n  -  -"),
        (("t", "x"), [(WIDE, "a"), (ACCENT, "b")], {"indent": ""}, f"t     x\n{WIDE}  a\n{ACCENT}     b"),
        (("t", "x"), [("\uff21", "a"), ("c\u20dd", "b")], {"indent": ""}, "t   x\n\uff21  a\nc\u20dd   b"),
        (("t", "u"), [("abcd", "abcd")], {"indent": "", "limits": (3, 4)}, "t    u\nab…  abcd"),
        (
            ("t", "n"),
            [("bad", 5), ("good", 1000)],
            {"indent": " ", "colours": {"bad": "31", "5": "7"}},
            " \x1b[1mt\x1b[0m         \x1b[1mn\x1b[0m\n \x1b[31mbad\x1b[0m       \x1b[7m5\x1b[0m\n good  1,000",
        ),
    ],
)
def test_columns_have_the_width_that_a_terminal_shows(
    header: tuple[str, ...], rows: list[tuple[object, ...]], options: dict[str, Any], shown: str
) -> None:
    assert text_tables.columns(header, rows, **options) == shown


@pytest.mark.parametrize(
    ("text", "width", "folded"),
    [
        ("one two three", None, "one two three"), ("one two three", 8, "one two three"),
        ("one two three four five six", 20, "one two three four\nfive six"),
        ("  - one two three four", 23, "  - one two three four"),
        ("  - one two three four five", 24, "  - one two three four\n    five"),
        ("a\n\none two three four five", 20, "a\n\none two three four\nfive"),
        ("a well-known/path/that-is-longer-than-the-line b", 20, "a\nwell-known/path/that-is-longer-than-the-line\nb"),
    ],
)  # fmt: skip
def test_words_stay_whole_where_lines_are_folded(text: str, width: int | None, folded: str) -> None:
    assert text_tables.fold(text, width) == folded


@pytest.mark.parametrize(
    ("stream", "environment", "has"),
    [
        (Terminal(), {}, True), (Terminal(), {"NO_COLOR": "1"}, False), (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False), (StringIO(), {}, False), (None, {}, False),
    ],
)  # fmt: skip
def test_colours_are_for_terminals_that_have_some(
    stream: Any, environment: dict[str, str], has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables.sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "77")
    for name, value in ({"NO_COLOR": None, "TERM": "xterm"} | environment).items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    assert text_tables.has_colours() == has
    assert text_tables.terminal_width() == (77 if isinstance(stream, Terminal) else None)


class GonePipe(StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize(("stream", "is_read"), [(StringIO(), True), (GonePipe(), False)])
def test_it_knows_whether_anybody_reads_on(stream: Any, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables.sys, "stdout", stream)
    assert text_tables.output("a") is is_read
    assert text_tables.output() is is_read
    assert stream.getvalue() == "a\n"
    monkeypatch.setattr(text_tables.sys, "stdout", None)
    assert text_tables.output() is True
    with pytest.raises(
        ClientInfoError, match=r"^standard output cannot be written: it is closed; send the output else"
    ):
        text_tables.output("a")
    closed = Terminal()
    closed.close()
    assert [text_tables.is_terminal(stream) for stream in (Terminal(), closed, None)] == [True, False, False]


def test_a_line_shows_how_far_the_stage_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """What was there before is erased each time, every change is shown at once, and a path cannot act on the terminal."""
    clock = iter([100.0, 100.04, 101.5, 1334.56])
    monkeypatch.setattr(context.time, "monotonic", lambda: next(clock))
    caplog.set_level(logging.DEBUG, "kafka_clientinfo")
    assert progress_line(StringIO()) is None
    out = Terminal()
    line = progress_line(out)
    assert line is not None
    log.addHandler(line)
    try:
        say("read")
        say("3 of 4", is_detail=True)
        log.info("something else")
        say("write\x1b[2J")
    finally:
        log.removeHandler(line)
    line.clear()
    lines = ["", "   0.0 s  read", "   1.5 s  read: 3 of 4", "1234.6 s  write\ufffd[2J", ""]
    assert out.getvalue().split("\r\x1b[K") == lines
    assert [text.count("\r") for text in out.flushed] == [1, 2, 3, 4]


class Gone(StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError("closed")


def test_a_run_goes_on_without_its_terminal() -> None:
    line = ProgressLine(Gone())
    for record in ({"stage": "read"}, {"detail": "3 of 4"}):
        line.emit(logging.makeLogRecord(record))
    line.clear()
