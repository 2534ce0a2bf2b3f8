"""The page as one HTML text: sections with plots, the data of the tables as JSON, and a content security policy.

The policy allows only the page's own style and script, by their hashes, so that the page loads nothing and sends nothing.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from .table import TIMES

NONE = "–"
_ROWS = 200
"""The rows of a table without the script, as in print."""
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page.

    Attributes:
        figures: numbers shown large, each with its caption.
        link: the text of its link at the top of the page; if empty, the title.
        plots: captions and `svg` elements, which stand above the tables.
        tables: names of the tables that are shown open.
        collapsed: names of the tables that are closed at first, each with the line that opens it.
        closed: whether all but title and question is closed at first.
    """

    name: str
    title: str
    question: str
    notes: Sequence[str] = ()
    figures: Sequence[tuple[str, str]] = ()
    link: str = ""
    plots: Sequence[tuple[str, str]] = ()
    tables: Sequence[str] = ()
    collapsed: Mapping[str, str] = field(default_factory=dict)
    closed: bool = False


def page(title: str, sections: Sequence[Section], footer: str, data: Mapping[str, Any]) -> str:
    """Return the whole page; its script reads `data` and shows values of it as text only.

    The open tables of the first section are in the page as HTML too, for readers that run no script, such as mail programs and wikis.
    """
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    links = "".join(f'<li><a href="#{escape(s.name)}">{escape(s.link or s.title)}</a></li>' for s in sections)
    parts = {
        "policy": policy,
        "title": escape(title),
        "style": style,
        "links": links,
        "sections": "\n".join(_section(s, "h1" if s is sections[0] else "h2", data["tables"]) for s in sections),
        "footer": escape(footer),
        "data": embedded(data),
        "script": script,
    }
    return Template(_file("page.html")).substitute(parts)


def embedded(data: Any) -> str:
    """Return JSON that an HTML parser can only read as the text of its element: no value can close the element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)


def _section(section: Section, level: str, tables: Mapping[str, Any]) -> str:
    name = escape(section.name)
    parts = [f'<section id="{name}" aria-labelledby="{name}-title">']
    parts.append(f'<{level} id="{name}-title">{escape(section.title)}</{level}>')
    parts.append(f'<p class="question">{escape(section.question)}</p>')
    if section.closed:
        parts.append('<details class="closed"><summary>Show</summary>')
    if section.figures:
        items = "".join(
            f"<div><dd{' class=none' if n == NONE else ''}>{escape(n)}</dd><dt>{escape(words)}</dt></div>"
            for n, words in section.figures
        )
        parts.append(f'<dl class="figures">{items}</dl>')
    parts += [_plot(*plot) for plot in section.plots]
    for table in section.tables:
        rows = _table(tables[table]) if level == "h1" else ""
        parts.append(f'<div class="slot" data-table="{escape(table)}">{rows}</div>')
    for table, summary in section.collapsed.items():
        slot = f'<div class="slot" data-table="{escape(table)}"></div>'
        parts.append(f'<details class="more"><summary>{escape(summary)}</summary>{slot}</details>')
    if section.notes:
        parts.append(f'<ul class="notes">{"".join(f"<li>{escape(note)}</li>" for note in section.notes)}</ul>')
    return "".join([*parts, "</details>" if section.closed else "", "</section>"])


def _table(spec: Mapping[str, Any]) -> str:
    """Return the first rows of a table of the page's data, which the script replaces."""
    kinds, more = [column["kind"] for column in spec["columns"]], len(spec["rows"]) - _ROWS
    head = "".join(f'<th scope="col">{escape(column["label"])}</th>' for column in spec["columns"])
    cells = (map(_cell, row, kinds) for row in spec["rows"][:_ROWS])
    rows = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in cells)
    cut = f"{more:,} more rows need this page's script. " if more > 0 else ""
    table = f"<table><caption>{escape(spec['caption'])}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'{table}<p class="cut">{escape(cut + spec["cut"])}</p>'


def _cell(value: Any, kind: str) -> str:
    if value is None or value in ("", []):
        return NONE
    if kind in TIMES:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M}"
    if isinstance(value, list):
        return "<br>".join(map(escape, value))
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def _plot(caption: str, svg: str) -> str:
    caption = escape(caption)
    return (
        f'<figure><figcaption>{caption}</figcaption><div class="plot" tabindex="0" role="group" aria-label="{caption}">'
        f"{svg}</div></figure>"
    )


def _file(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
