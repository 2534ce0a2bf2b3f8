"""Output: whatever a log holds is data in text, JSON, CSV and Markdown, and nothing is cut without a word."""

import csv
import errno
import io
import json
import os
from argparse import ArgumentParser
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.commands.output import (
    Table,
    add_formats,
    as_csv,
    as_json,
    as_markdown,
    as_text,
    limit_of,
    write_private,
)
from kafka_clientinfo.errors import ClientInfoError
from kafka_clientinfo.printable import safe

TIME = datetime(2026, 11, 21, 2, 0, 0, 125_000, UTC)
FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\r\n=1", " =1", "\x00=1", "\u00a0+1", "\ufeff@a", "\u3000=1",
    "\uff1d1", "\uff0b1", "\uff0d1", "\uff20a", "\u22121", "\ufe661", "\u207a1", "\ufb291", "\xad=1", "\u202e=1", "\u2060=1", "\x7f=1", "\ufe0f=1", "\ta", "\na",
)  # fmt: skip


def table(*rows: tuple[Any, ...], columns: tuple[str, ...] = ("a", "b"), more: int = 0, title: str = "") -> Table:
    return Table(title, columns, rows, more, "rows")


def text_of(tables: list[Table], width: int | None, colours: bool, notes: list[str] | None = None) -> str:
    """What a terminal of that width shows."""
    with (
        mock.patch.object(text_tables, "terminal_width", return_value=width),
        mock.patch.object(text_tables, "has_colours", return_value=colours),
    ):
        return as_text(tables, notes or [])


def test_json_of_one_table_is_an_array_and_of_several_an_object() -> None:
    one = table((1, TIME), (None, [b"\xff", {1: Decimal("1.5")}]))
    assert json.loads(as_json([one])) == [
        {"a": 1, "b": "2026-11-21T02:00:00.125Z"},
        {"a": None, "b": ["/w==", {"1": "1.5"}]},
    ]
    assert json.loads(as_json([one, Table("", ("c",), [], name="x")]))["x"] == []
    assert json.loads(as_json([one], document={"a": TIME})) == {"a": "2026-11-21T02:00:00.125Z"}
    assert as_json([table((float("nan"), "\x1b\u202e"))]) == '[{"a": null, "b": "\\u001b\\u202e"}]'


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_has_no_formula(text: str) -> None:
    (_, (cell, other)) = csv.reader(io.StringIO(as_csv([table((text, f"a{text}"))]), newline=""))
    assert cell == f"'{text}"
    assert other == f"a{text}"


def test_csv_leaves_numbers_and_writes_an_empty_line_between_tables() -> None:
    text = as_csv([table((-1, True), (None, [1, "ü"])), table(('"', "a,\nb"))])
    assert text == 'a,b\n-1,true\n,"[1, ""ü""]"\n\na,b\n"""","a,\nb"\n'
    assert as_csv([table((b"\xfb", -1))]) == "a,b\n'+w==,-1\n"
    assert "\x1b" in as_csv([table(("\x1b[2J", ""))])
    assert "\x1b" not in as_csv([table(("\x1b[2J", ""))], for_terminal=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b `x` \\", r"a\|b \`x\` \\"), ("<script>& [l](u)", r"&lt;script&gt;&amp; \[l\](u)"), ("*_~", r"\*\_\~"),
        ("https://x WWW.x a/b", r"https:\//x WWW\.x a/b"), ("a\nb\x1b", "a\ufffdb\ufffd"),
    ],
)  # fmt: skip
def test_markdown_has_no_markup(text: str, shown: str) -> None:
    assert as_markdown([table((text, 1), title="T")]) == f"## T\n\n| a | b |\n| --- | --- |\n| {shown} | 1 |"


SHOWS_NOTHING = {0x7F, 0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF} | {
    *range(32), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)
}  # fmt: skip
SIGNS = set("=+-@＝＋－＠﹢﹣﹦﹫⁺⁻⁼₊₋₌−﬩")


def begins_like_a_formula(cell: str) -> bool:
    shows_nothing = "".join(c for c in cell if c.isspace() or ord(c) in SHOWS_NOTHING)
    return cell[:1] in ("\t", "\r", "\n") or cell.lstrip(shows_nothing)[:1] in SIGNS


@given(st.lists(st.tuples(st.text(), st.text()), max_size=3), st.integers(1, 200))
def test_a_row_is_a_line_whatever_it_holds(rows: list[tuple[str, str]], width: int) -> None:
    answer = [table(*rows)]
    assert len(as_markdown(answer).splitlines()) == 2 + len(rows)
    text = text_of(answer, width, False)
    assert all(safe(line) == line[:4000] for line in text.split("\n"))
    assert list(csv.reader(io.StringIO(as_csv(answer), newline="")))[1:] == [
        [f"'{cell}" if begins_like_a_formula(cell) else cell for cell in row] for row in rows
    ]


def test_text_fits_the_terminal_and_says_what_is_shortened() -> None:
    answer = [table(("x" * 80, 1234567), ("y", 1)), table((1, 2))]
    text = text_of(answer, 60, False)
    assert max(map(len, text.splitlines()[:2])) == 60
    assert "…" in text
    assert "Texts that end with … are shortened; --json and --csv have them whole." in " ".join(text.split())
    assert "shortened" not in text_of(answer, 120, False)
    assert "x" * 80 in text_of(answer, 120, False)


def test_a_text_is_whole_without_a_terminal_unless_no_reader_wants_it() -> None:
    assert text_of([table(("x" * 4000, 1))], None, False).splitlines()[1:] == [f"{'x' * 4000}  1"]
    shown = text_of([table(("x" * 4001, 1))], None, False)
    assert f"{'x' * 3999}…  1" in shown
    assert "Texts that end with … are shortened" in shown


@pytest.mark.parametrize("column", ["connection", "connection_id", "rule", "grep", "table", "view"])
@pytest.mark.parametrize("width", [80, 230])
def test_what_is_typed_into_the_next_command_is_never_shortened_or_folded(column: str, width: int) -> None:
    text = text_of([table(("x " * 90 + "x", "y" * 180), columns=(column, "b"))], width, False)
    assert "x " * 90 + "x" in text
    assert ("y" * 180 in text) == (width == 80)
    text = text_of([table((TIME, "x" * 80), (None, "y"), columns=("last_seen", "b"))], width // 2 - 10, False)
    assert "2026-11-21 02:00:00" in text


def test_values_are_shown_as_people_read_them() -> None:
    row = (TIME, TIME, None, True, ["x", "y"], {"k": 1}, ["x", None])
    found = table(row, columns=("seen", "opened_at", "n", "b", "l", "m", "some"))
    assert text_of([found], 200, False).splitlines()[1].split("  ") == [
        "2026-11-21 02:00:00", "2026-11-21 02:00:00.125", "-", "yes", "x, y", '{"k": 1}', '["x", null]',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("owner", None, "no owner"), ("owners", [], "no owner"), ("owners", ["a"], "a"), ("contact", None, "-"),
        ("principal", None, "(none)"), ("client_id", None, "(none)"), ("client_id", "", "(empty)"), ("client_id", "-", "-"),
        ("group_id", "", ""),
    ],
)  # fmt: skip
def test_text_has_a_sign_for_what_is_missing(column: str, value: Any, shown: str) -> None:
    assert as_text([table((value, 1), columns=(column, "b"))]).splitlines()[1] == f"{shown:{len(column)}}  1"
    assert json.loads(as_json([table((value,), columns=(column,))])) == [{column: value}]


@pytest.mark.parametrize(
    ("principals", "whole", "is_shown"),
    [
        (["User:ANONYMOUS", "-"], [], False), (["User:ANONYMOUS", "User:a"], [], True), (["User:ANONYMOUS", None], [], True),
        ([None], [], True), (["User:ANONYMOUS"], ["principal"], True), ([], [], True),
    ],
)  # fmt: skip
def test_text_has_principals_if_one_of_them_logged_in(
    principals: list[str | None], whole: list[str], is_shown: bool
) -> None:
    found = replace(table(*((one, 1) for one in principals), columns=("principal", "b")), whole=frozenset(whole))
    assert ("principal" in as_text([found])) == is_shown
    assert "principal" in as_csv([found])


@pytest.mark.parametrize(
    ("word", "colour"),
    [("error", "31"), ("refused", "31"), ("warning", "33"), ("deprecated", "33"), ("info", None), ("errors", None)],
)
def test_a_word_has_the_colour_of_its_gravity(word: str, colour: str | None) -> None:
    header, line = text_of([table((word, 1))], 80, True).splitlines()
    assert header.startswith("\x1b[1ma\x1b[0m")
    assert line.startswith(word if colour is None else f"\x1b[{colour}m{word}\x1b[0m")


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [([], 50), (["--json"], 0), (["--csv", "--limit", "3"], 3), (["--limit", "0"], 0), (["--limit", "1000000000"], 10**9)],
)  # fmt: skip
def test_only_text_has_a_limit_of_its_own(arguments: list[str], limit: int) -> None:
    parser = ArgumentParser()
    add_formats(parser, 50)
    assert limit_of(parser.parse_args(arguments)) == limit


@pytest.mark.parametrize("number", ["-1", "x", "", "1.5", "1e3", "nan", "²", "1_0", "1000000001", "9" * 20, "9" * 5000])
def test_a_limit_is_a_number_of_rows(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_formats(parser, 50)
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args([f"--limit={number}"])
    assert "give a number of rows up to 1,000,000,000, or 0 for all" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOSYS, errno.EPERM])
def test_a_file_is_written_in_place_if_need_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", refused)
    for content in (b"first", b"another"):
        write_private(tmp_path / "report.html", content, "--output")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"report.html": content}
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600
    (tmp_path / "report.html").chmod(0o666)
    write_private(tmp_path / "report.html", b"content", "--output")
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link.html").symlink_to(tmp_path / "victim")
    with pytest.raises(ClientInfoError, match=r"--output \S+ cannot be written"):
        write_private(tmp_path / "link.html", b"content", "--output")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "report.html"]


@pytest.mark.parametrize("beside", ["report.html.part", "report.html"])
@pytest.mark.parametrize("is_link", [True, False])
def test_nothing_that_lies_there_is_written_through_and_nobody_else_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str, is_link: bool
) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    folder.mkdir()
    victim.write_bytes(b"mine")
    victim.chmod(0o666)
    (folder / beside).symlink_to(victim) if is_link else (folder / beside).touch(0o666)
    modes, replace = [], Path.replace

    def replaced(part: Path, target: Path) -> Path:
        modes.append(part.stat().st_mode & 0o777)
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", replaced)
    report = folder / "report.html"
    write_private(report, b"content", "--output")
    assert (victim.read_bytes(), modes) == (b"mine", [0o600])
    assert (report.read_bytes(), report.is_symlink(), report.stat().st_mode & 0o777) == (b"content", False, 0o600)
    assert {path.name for path in folder.iterdir()} == {"report.html", beside}
