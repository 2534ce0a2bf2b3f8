"""Text for terminals: columns, colours, and what is under way."""

import io
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.errors import ClientInfoError

WIDE, ACCENT = "日本", "e\u0301"


@pytest.mark.parametrize(
    ("header", "rows", "options", "shown"),
    [
        (("a", "bc"), [], {}, "  a  bc"),
        (("n", "is"), [(1, True), (20, False)], {}, "   n     is\n   1   True\n  20  False"),
        (("n", "x"), [(1, "a"), ("no", "b")], {"indent": ""}, "n   x\n1   a\nno  b"),
        (("n", "x"), [(100, "-"), ("-", "-")], {"indent": ""}, "  n  x\n100  -\n  -  -"),
        (("n", "x"), [(0.5, "a"), (1234.25, "b")], {"indent": ""}, "       n  x\n     0.5  a\n1,234.25  b"),
        (("t", "x"), [(WIDE, "a"), (ACCENT, "b")], {"indent": ""}, f"t     x\n{WIDE}  a\n{ACCENT}     b"),
        (("t", "x"), [("\uff21", "a"), ("c\u20dd", "b")], {"indent": ""}, "t   x\n\uff21  a\nc\u20dd   b"),
        (("t", "u"), [("x" * 101, "y" * 60)], {"indent": ""}, f"t{' ' * 101}u\n{'x' * 101}  {'y' * 60}"),
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
        ("one two three", None, "one two three"),
        ("one two three", 8, "one two three"),
        ("one two three four five six", 20, "one two three four\nfive six"),
        ("  one two three four five", 22, "  one two three four\n    five"),
        ("  - one two three four", 24, "  - one two three four"),
        ("  - one two three four", 23, "  - one two three four"),
        ("  - one two three four five", 24, "  - one two three four\n    five"),
        ("- one two three four five", 22, "- one two three four\n  five"),
        ("a\n\none two three four five", 20, "a\n\none two three four\nfive"),
        ("a well-known/path/that-is-longer-than-the-line b", 20, "a\nwell-known/path/that-is-longer-than-the-line\nb"),
    ],
)
def test_words_stay_whole_where_lines_are_folded(text: str, width: int | None, folded: str) -> None:
    assert text_tables.fold(text, width) == folded


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "has"),
    [
        (Terminal(), {}, True), (Terminal(), {"NO_COLOR": "1"}, False), (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False), (io.StringIO(), {}, False), (None, {}, False),
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


class GonePipe(io.StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize(("stream", "is_read"), [(io.StringIO(), True), (GonePipe(), False)])
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


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_what_a_stream_has_not_taken_is_dropped(
    name: str, error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Python would fail on it again at its end."""
    with (tmp_path / "full").open("w") as full:

        class Full(io.StringIO):
            def write(self, text: str) -> int:
                raise error

            def fileno(self) -> int:
                return full.fileno()

        monkeypatch.setattr(text_tables.sys, name, Full())
        is_full = name == "stdout" and not isinstance(error, BrokenPipeError)
        with pytest.raises(ClientInfoError, match="No space left") if is_full else nullcontext():
            text_tables.output("a") if name == "stdout" else text_tables.complain("a")
        assert os.fstat(full.fileno()).st_rdev == os.stat(os.devnull).st_rdev
