"""The layout of tables on terminals: columns that fit, values named once, and a block of lines for each row."""

from typing import Any

import pytest

from kafka_clientinfo.commands.text_tables import Grid

ADVICE = "upgrade to Apache Kafka's Java client 2.1 or later"
COLOURS = {"error": "31"}


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
def test_prose_and_what_stays_whole_are_not_shortened_to_fit(
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
        "  \x1b[1mseverity\x1b[0m    \x1b[31merror\x1b[0m",
        "  \x1b[1mwhat to do\x1b[0m",
        "    upgrade to Apache Kafka's",
        "    Java client 2.1 or later",
        "",
        "  \x1b[1mseverity\x1b[0m    info",
        "  \x1b[1mwhat to do\x1b[0m  no",
    ]


def test_without_blocks_a_row_is_a_line() -> None:
    cells = grid(("a", "b", "what to do"), ("same", "x" * 90, ADVICE), ("same", "y", "no"))
    layout = cells.laid_out(20, {}, blocks=False)
    assert not layout.in_blocks
    assert layout.text.split("\n")[0] == "a: same"
    assert len(layout.text.split("\n")) == 4


def test_no_text_of_a_client_has_an_effect() -> None:
    hostile = "evil\x1b[2J\n\u202e"
    for rows in ([(hostile, "x" * 90)], [(hostile, "x" * 90), (hostile, "y" * 90)]):
        text = grid(("a", "found"), *rows).laid_out(40, {}).text
        assert "evil\ufffd[2J\ufffd\ufffd" in text
        assert not set(text) & set("\x1b\u202e")
