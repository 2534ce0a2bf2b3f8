"""Text for terminals: whatever a client wrote, it can only be read."""

import io
from dataclasses import InitVar, dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo import console
from kafka_clientinfo.errors import ConfigError

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NOTHING_TO_SEE = "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u2064\u2800\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0041\U000e0101\U0001d173"
CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))


@pytest.mark.parametrize(
    "hostile",
    [*CONTROLS, *BIDI, *NOTHING_TO_SEE, *"\u2028\u2029\u00a0\u3000\ud800\udfff\ue000\uffff", "\x1b[31mred", "a\nb"],
    ids=ascii,
)
def test_no_control_reaches_the_terminal(hostile: str) -> None:
    assert console.safe(f"a{hostile}b") == f"a{hostile}b".replace(hostile[0] if hostile[0] != "a" else "\n", "\ufffd")


@pytest.mark.parametrize("plain", ["", "a b", "ü\N{SNOWMAN}", "\N{GRINNING FACE}", "<b>'\"`${x}%s", "e\u0301", "日本"])
def test_plain_text_stays(plain: str) -> None:
    assert console.safe(plain) == plain


def test_bytes_that_are_no_utf8_are_named() -> None:
    assert console.argument("--cluster", "ü\n") == "ü\n"
    with pytest.raises(ConfigError, match=r"--cluster is 'a\\udcff'"):
        console.argument("--cluster", "a\udcff")


@given(st.text())
def test_any_text_becomes_one_printable_line(text: str) -> None:
    shown = console.safe(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_columns_align_numbers_to_the_right() -> None:
    text = console.columns(("n", "name"), [(1234, "a"), (5, "long name")])
    assert text == "      n  name\n  1,234  a\n      5  long name"


WIDE, ACCENT = "日本", "e\u0301"


@pytest.mark.parametrize(
    ("header", "rows", "options", "shown"),
    [
        (("a", "bc"), [], {}, "  a  bc"),
        (("n", "is"), [(1, True), (20, False)], {}, "   n     is\n   1   True\n  20  False"),
        (("n", "x"), [(1, "a"), ("no", "b")], {"indent": ""}, "n   x\n1   a\nno  b"),
        (("t", "x"), [(WIDE, "a"), (ACCENT, "b")], {"indent": ""}, f"t     x\n{WIDE}  a\n{ACCENT}     b"),
        (("t", "u"), [("x" * 61, "y" * 60)], {"indent": ""}, f"t{' ' * 61}u\n{'x' * 59}…  {'y' * 60}"),
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
    assert console.columns(header, rows, **options) == shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "has"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (None, {}, False),
    ],
)
def test_colours_are_for_terminals_that_have_some(
    stream: Any, environment: dict[str, str], has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "77")
    for name, value in ({"NO_COLOR": None, "TERM": "xterm"} | environment).items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    assert console.has_colours() == has
    assert console.terminal_width() == (77 if isinstance(stream, Terminal) else None)


class GonePipe(io.StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize(("stream", "is_read"), [(io.StringIO(), True), (GonePipe(), False)])
def test_it_knows_whether_anybody_reads_on(stream: Any, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.sys, "stdout", stream)
    assert console.output("a") is is_read
    assert console.output() is is_read
    assert stream.getvalue() == "a\n"
    monkeypatch.setattr(console.sys, "stdout", None)
    assert console.output() is True


def test_a_terminal_that_is_closed_is_none() -> None:
    closed = Terminal()
    closed.close()
    assert [console.is_terminal(stream) for stream in (Terminal(), closed, None)] == [True, False, False]


@dataclass
class Report(console.Stages):
    progress: InitVar[console.Progress | None]
    seconds: dict[str, float] = field(default_factory=dict)


@pytest.mark.parametrize("is_told", [True, False])
def test_the_parts_of_a_stage_are_summed_up(is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.5, 20.0, 20.2504, 30.0, 31.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    said: list[str] = []
    report = Report(said.append if is_told else None)
    for name in ("read", "write", "read"):
        with report.stage(name):
            assert not is_told or said[-1] == name
    assert report.seconds == {"read": 1.5, "write": 0.25}
    assert said == ["read", "write", "read"] * is_told


def test_long_texts_are_cut() -> None:
    assert [console.safe("abcd", 4), console.safe("abc", 4)] == ["abcd", "abc"]
    assert console.safe("abcdef", 4) == "abc…"
    assert len(console.safe("x" * 100_000)) < 5000
    assert console.safe("\x1b" * 100_000, 60) == "\ufffd" * 59 + "…"


def test_progress_shows_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.25, 1100.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    assert console.progress(io.StringIO()) is None
    out = Terminal()
    show = console.progress(out)
    assert show is not None
    show("read\x1b[2J")
    assert out.getvalue() == "\r\x1b[K   1.2 s  read\N{REPLACEMENT CHARACTER}[2J"
    show.detail("3 of 5 MB")
    assert out.getvalue().endswith("J\r\x1b[K1000.0 s  read\N{REPLACEMENT CHARACTER}[2J: 3 of 5 MB")
    show.clear()
    assert out.getvalue().endswith("MB\r\x1b[K")
