"""Texts from outside: whatever a client wrote, it can only be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.printable import argument, safe

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NOTHING_TO_SEE = "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u2064\u2800\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0041\U000e0101\U0001d173"
CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))
OTHERS = "\u2028\u2029\u00a0\u3000\ud800\udfff\ue000\uffff"


@pytest.mark.parametrize("hostile", CONTROLS + BIDI + NOTHING_TO_SEE + OTHERS, ids=ascii)
def test_no_control_reaches_the_terminal(hostile: str) -> None:
    assert safe(f"a{hostile}b") == "a\ufffdb"


@pytest.mark.parametrize("plain", ["", "a b", "ü\N{SNOWMAN}", "\N{GRINNING FACE}", "<b>'\"`${x}%s", "e\u0301", "日本"])
def test_plain_text_stays(plain: str) -> None:
    assert safe(plain) == plain


def test_bytes_that_are_no_utf8_are_named() -> None:
    assert argument("--cluster", "ü\n") == "ü\n"
    with pytest.raises(ConfigError, match=r"--cluster is 'a\\udcff'"):
        argument("--cluster", "a\udcff")


@given(st.text())
def test_any_text_becomes_one_printable_line(text: str) -> None:
    shown = safe(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_long_texts_are_cut() -> None:
    assert [safe("abcd", 4), safe("abc", 4), safe("abcdef", 4)] == ["abcd", "abc", "abc…"]
    assert len(safe("x" * 100_000)) < 5000
    assert safe("\x1b" * 100_000, 60) == "\ufffd" * 59 + "…"
