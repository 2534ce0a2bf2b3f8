"""The report's page without a browser: its figures are those of the tables, and its data is no markup."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.config.rules import SEVERITIES
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.questions.presenter import IN_WORDS
from kafka_clientinfo.releases.broker_releases import releases
from kafka_clientinfo.report import contents, plots
from kafka_clientinfo.report.over_time import MOST, buckets
from kafka_clientinfo.report.page import _table, embedded
from kafka_clientinfo.report.table import declarations
from kafka_clientinfo.tables.spec import CLIENT, table_spec
from kafka_clientinfo.tables.views import views
from tests.report.conftest import HOSTILE, TARGET, at, tables
from tests.report.pages import data_of, report_of, scope_of

CLIENTS = [row for row in tables()["connections"] if row["role"] == "client"]


def attributes_of(page: str) -> list[tuple[str, str]]:
    """Name and value of every attribute of a page."""
    found: list[tuple[str, str]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda _, attrs: found.extend((name, value or "") for name, value in attrs)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def test_owners_stand_with_a_client_and_in_a_table(hostile_warehouse: Path, data: dict[str, Any]) -> None:
    scope = scope_of(hostile_warehouse)
    (client,) = scope.query(f"SELECT {', '.join(CLIENT)} FROM {{who_connects}} ORDER BY ALL LIMIT 1")
    owners = {client: ("Orders", "orders@example.com")}
    rows = [["no owner", None, 3, 0, 1, 2, 40, 1], ["Orders", "orders@example.com", 0, 0, 0, 1, 0, 0]]
    shown = data_of(report_of(scope, owners=owners, by_owner=rows))
    assert [one["facts"]["owners"] for one in shown["details"] if "owners" in one["facts"]] == [list(owners[client])]
    assert shown["tables"]["by_owner"]["rows"] == rows
    assert "by_owner" not in data["tables"]


NOTES = (
    "The span chooses the clients that were seen in it; their numbers of requests per version are of all time.",
    "Requests and first seen are of all time; connections, hosts and last seen are of the chosen span.",
)


@pytest.mark.parametrize(
    ("given", "expected", "first", "count_and_width"),
    [
        ({"cluster": "payments"}, [row for row in CLIENTS if row["cluster"] == "payments"], 100, (31, 10)),
        ({"since": at(50)}, [row for row in CLIENTS if row["last_request_at"] >= at(50)], 50, (56, 60)),
        ({"until": at(50)}, [row for row in CLIENTS if row["opened_at"] < at(50)], 0, (50, 60)),
        ({"since": at(20), "until": at(22)}, CLIENTS[19:22], 20, (120, 1)),
        ({"since": at(-9), "until": at(999)}, CLIENTS, 0, (106, 60)),
    ],
)
def test_a_scope_chooses_clients_and_the_span_of_the_plot_which_counts_like_client_connections(
    hostile_warehouse: Path, given: dict[str, Any], expected: list[Any], first: int, count_and_width: tuple[int, int]
) -> None:
    page = report_of(scope_of(hostile_warehouse, **given))
    shown = data_of(page)
    names = {row["client_id"] for row in expected}
    assert [page.count(f"<li>{note}</li>") for note in NOTES] == [int("cluster" not in given)] * 2
    assert len(shown["tables"]["clients"]["rows"]) == len(names)
    assert sum(sum(row[1:]) for row in shown["tables"]["releases"]["rows"] if row[0] == TARGET) == len(names)
    rows, width = shown["tables"]["open_connections"]["rows"], shown["buckets"]["seconds"]
    assert (len(rows), width) == count_and_width
    assert rows[0][0] == shown["buckets"]["start"] == at(first).timestamp()
    spans = [(row["opened_at"].timestamp(), row["last_request_at"].timestamp()) for row in expected]
    for time, *numbers in rows:
        assert sum(numbers) == sum(opened < time + width and last >= time for opened, last in spans)


def test_a_part_without_a_client_has_no_report(hostile_warehouse: Path) -> None:
    verdict = impact(scope_of(hostile_warehouse), TARGET, True)
    with pytest.raises(WarehouseError, match=r"^no client's connection is in this part of the warehouse; "):
        report_of(scope_of(hostile_warehouse, cluster="nowhere"), verdict)


def test_texts_of_clients_stand_in_the_data_alone(page: str) -> None:
    around = re.sub(r'<script type="application/json" id="data">.*?</script>', "", page, flags=re.DOTALL)
    outside = re.sub(r"<svg.*?</svg>", "", around, flags=re.DOTALL)
    outside = re.sub(r"<table>.*?</table>", "", outside, flags=re.DOTALL)
    assert not [text for text in ("owned", "img src", "DROP TABLE", "7*7", "calc") if text in outside]
    assert not [text for text in ("<script>document", "<img") if text in around]


def test_who_breaks_is_readable_without_the_script(page: str, data: dict[str, Any]) -> None:
    (text,) = re.findall(r'<div class="slot" data-table="who_breaks"><table>.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    rows = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)]
    shown = [[unescape(cell) for cell in row[:2]] for row in rows]
    assert shown == [row[:2] for row in data["tables"]["who_breaks"]["rows"]] != []
    assert page.count("<table>") == 1
    many = {"caption": "", "columns": [{"label": "n", "kind": "count"}], "rows": [[1]] * 202, "cut": ""}
    assert _table(many).endswith('</table><p class="cut">2 more rows need this page&#x27;s script. </p>')
    assert not set(re.findall(r"</?(\w+)", text)) - {"tr", "td", "br"}


def test_nothing_is_loaded_and_the_policy_names_what_runs(page: str) -> None:
    attributes = attributes_of(page)
    assert not [one for name, one in attributes if name in ("href", "src", "action") and not one.startswith("#")]
    assert not [name for name, _ in attributes if name == "style" or name.startswith("on")]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_data_is_no_markup_and_the_same_data(value: Any) -> None:
    text = embedded(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


@given(st.integers(0, 4 * 10**15), st.integers(0, 10**15))
def test_buckets_hold_their_span(first: int, length: int) -> None:
    cut = buckets(first, first + length)
    assert cut.start <= first < cut.start + cut.width
    assert cut.start + (cut.count - 1) * cut.width <= first + length < cut.start + cut.count * cut.width
    assert cut.count <= MOST


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(100, "second"), (1_000, "10 seconds"), (7_000, "minute"), (30_000, "5 minutes"), (70_000, "10 minutes"),
     (200_000, "30 minutes"), (400_000, "hour"), (1_200_000, "3 hours"), (2_500_000, "6 hours"), (5_000_000, "12 hours"),
     (10_000_000, "day"), (70_000_000, "week"), (300_000_000, "30 days"), (1_000_000_000, "365 days")],
)  # fmt: skip
def test_buckets_are_as_wide_as_a_span_takes(seconds: int, words: str) -> None:
    assert buckets(0, seconds * 1_000_000).words == words


def svgs(drawn: str) -> tuple[ET.Element, ET.Element]:
    """A plot's elements for wide and for narrow screens."""
    wide, narrow = ET.fromstring(f"<div>{drawn}</div>")
    assert (wide.get("class"), narrow.get("class")) == ("wide", "narrow")
    return wide, narrow


LOOKS = {
    *["d", "fill", "font-size", "font-weight", "height", "opacity", "stroke", "stroke-miterlimit", "stroke-width", "text-anchor", "transform", "viewBox", "width", "x2"],
    "y2", "role", "aria-label", "class",
}  # fmt: skip


def test_plots_are_drawn_with_shapes_and_their_looks_alone() -> None:
    """Whatever a label is."""
    colours = {"a": "var(--s0)", "b": "var(--s1)"}
    counts = {"4.0": {"a": 3, "b": 1}, "4.1": {"a": 2, "b": 2}}
    drawn = [
        *(plots.bars([(text, 3, "a"), ("b", 2, "b")], colours, text.replace("\x00", ""), "n") for text in HOSTILE),
        plots.stacked_by_release(counts, {"a": "a", "b": "b"}, colours, "4.1", "Releases"),
        plots.over_time({"one": [1, 2, 3], plots.OTHERS: [3, 0, 1]}, 0, 60_000_000, "Over time"),
    ]
    elements = [element for text in drawn for svg in svgs(text) for element in svg.iter()]
    assert {element.tag.rpartition("}")[2] for element in elements} == {"svg", "g", "path", "line", "text"}
    assert {name for element in elements for name in element.attrib} == LOOKS
    assert all(int(svgs(text)[1].attrib["width"]) <= 368 for text in drawn)  # of a screen of 400 pixels


def texts(drawn: str) -> list[str | None]:
    """The labels of a plot for wide screens: of its axes, its marks and its legend."""
    return [element.text for element in svgs(drawn)[0].iter() if element.tag.endswith("}text")]


def shapes(drawn: str) -> list[tuple[str, str]]:
    """Colour and outline of each shape of a plot that has a colour of the page."""
    found = [element.attrib for element in svgs(drawn)[0].iter() if element.tag.endswith("}path")]
    return [(one["fill"], one["d"]) for one in found if one.get("fill", "").startswith("var(--")]


def test_a_plot_over_time_has_a_step_for_each_bucket() -> None:
    series = {"one": [1, 2, 3], plots.OTHERS: [3, 0, 1]}
    drawn = plots.over_time(series, 1_795_219_200_000_000, 3_600_000_000, "Over time")
    labels = texts(drawn)
    assert (labels[0], labels[-2:]) == ("21 Nov", ["one", "all others"])
    assert labels[labels.index("time, UTC") - 1] == "03:00"
    areas = shapes(drawn)[:2]
    assert [colour for colour, _ in areas] == ["var(--s0)", "var(--rest)"]
    for _, outline in areas:
        assert {round(float(x) / 1120 * 3, 3) for x in re.findall(r"[ML]([\d.]+),", outline)} == {0, 1, 2, 3}


def test_bars_keep_their_order_and_are_as_many_as_their_names() -> None:
    names = ["b" * 34, *("a" * 34 + end for end in "xy")]
    rows = [(name, n, "ab"[n % 2]) for n, name in enumerate(names)]
    drawn = plots.bars(rows, {"a": "var(--s0)", "b": "var(--s1)"}, "B", "n")
    assert texts(drawn)[-6:] == ["b" * 34, *["a" * 33 + "…"] * 2, "0", "1", "2"]
    assert [colour for colour, _ in shapes(drawn)] == ["var(--s0)", "var(--s1)", "var(--s0)"]


@pytest.mark.parametrize(
    ("colours", "words"), [(contents._COLOURS, IN_WORDS), (contents._SEVERITIES, SEVERITIES)]
)  # fmt: skip
def test_every_word_is_explained_and_has_a_colour_of_the_page(colours: dict[str, str], words: Iterable[str]) -> None:
    style = (Path(contents.__file__).parent / "page.css").read_text("utf-8")
    assert set(colours) == set(words)
    assert set(colours.values()) <= {f"var({name})" for name in re.findall(r"(--[\w-]+):", style)}
    assert len(set(colours.values())) == len(colours)
    explained = re.findall(r"WHEN '(\w+)'", declarations()["tables"]["reasons"]["rows"])
    assert set(re.findall(r"'(\w+)'", dict(table_spec("connections").checks)["reason_known"])) == set(explained)


ELSEWHERE = {
    "client_id_caching", "client_latency", "client_processes", "error_codes", "how_clients_negotiate", "requests_of_connections",
    "who_floods", "why_rebalanced",
}  # fmt: skip
"""Views for dashboards, to look up, for authors of protocols, and shown where who_is_slow is."""


def test_each_question_has_its_place_and_what_few_open_is_closed(page: str) -> None:
    assert {name for name in views() if f'<section id="{name}"' not in page} == ELSEWHERE
    assert re.findall(r'<h1 id="(\w+)-title"', page) == ["who_breaks"]
    closed = re.findall(r'<section id="(\w+)"[^>]*>(?:(?!</section>).)*?<details class="closed">', page, re.DOTALL)
    assert closed == ["why_unknown"]
    assert page.count("<details") == page.count("</details>")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--target", "9.9.9"], 2, "is known here; the newest is 4.4.0"),
        (["--since", "soon"], 2, "--since is 'soon'"),
        (["--cluster", "other"], 2, "it has those of 'orders', 'payments'"),
        (["--since", "2027-01-01"], 1, "no client of"),
        (["--output", "/nonesuch/report.html"], 1, "--output /nonesuch/report.html cannot be written: No such file"),
    ],
)
def test_wrong_arguments_are_named(
    hostile_warehouse: Path, tmp_path: Path, ask: Any, arguments: list[str], code: int, says: str
) -> None:
    answer = ask("report", "--warehouse", hostile_warehouse, "--output", tmp_path / "r.html", *arguments)
    assert answer.code == code
    assert says in answer.err
    assert list(tmp_path.iterdir()) == []


def test_the_newest_release_is_the_target_of_a_private_page(hostile_warehouse: Path, tmp_path: Path, ask: Any) -> None:
    output = tmp_path / "r.html"
    answer = ask("report", "--warehouse", hostile_warehouse, "--output", output)
    assert answer == (0, f"Wrote {output}, {output.stat().st_size:,} bytes.\n", "")
    assert f"Kafka {list(releases())[-1]}" in output.read_text("utf-8")
    assert output.stat().st_mode & 0o077 == 0


def test_each_log_has_its_time(data: dict[str, Any], hostile_warehouse: Path) -> None:
    scope = scope_of(hostile_warehouse)
    ((number,),) = scope.query("SELECT count(*) FROM {log_coverage} AS l")
    assert len({(row[0], row[5]) for row in data["logs"]}) == number
    assert all(began <= ended for _, began, ended, *_ in data["logs"])
    ((shown,),) = scope.query("SELECT current_setting('enable_progress_bar')")  # the command has its own
    assert shown is False
