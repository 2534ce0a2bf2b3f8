"""Text for terminals: whatever a client wrote, it can only be read."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo import console


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\nb", "a\rb", "\u202egnp", "\x00", "\x9b1m", "\ud800", "\u2028"])
def test_no_control_reaches_the_terminal(hostile: str) -> None:
    text = console.safe(hostile)
    assert "\N{REPLACEMENT CHARACTER}" in text
    assert not set(text) & set("\x1b\n\r\x00\x9b\u202e\u2028")


@given(st.text())
def test_any_text_becomes_one_printable_line(text: str) -> None:
    shown = console.safe(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_columns_align_numbers_to_the_right() -> None:
    text = console.columns(("n", "name"), [(1234, "a"), (5, "long name")])
    assert text == "      n  name\n  1,234  a\n      5  long name"


def test_long_texts_are_cut() -> None:
    assert console.safe("abcdef", 4) == "abc…"


def test_progress_shows_on_terminals_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert console.progress(io.StringIO()) is None
    out = Terminal()
    show = console.progress(out)
    assert show is not None
    show("read\x1b[2J")
    assert "read\N{REPLACEMENT CHARACTER}[2J" in out.getvalue()
