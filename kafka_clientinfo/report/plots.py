"""Plots as pairs of `svg` elements, for wide and for narrow screens; their colours are custom properties of the page's
style sheet.

Each plot has a file `plot_….json` with a Vega-Lite specification, in which `$` marks values that are filled in here.
vl-convert renders it.
"""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import vl_convert

from ..printable import safe

_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({"svg", "g", "path", "line", "text"})
_ATTRIBUTES = frozenset(
    {
        "d", "fill", "font-size", "font-weight", "height", "opacity", "stroke", "stroke-miterlimit", "stroke-width",
        "text-anchor", "transform", "viewBox", "width", "x2", "y2",
    }
)  # fmt: skip
"""The SVG attributes that these plots need; Vega also writes classes, clip paths and ARIA attributes, which are removed."""
_NARROW: Mapping[str, Any] = {
    "width": {"bars": 185, "releases": 300, "over_time": 296},
    "axis": {"labelLimit": 130},
    "legend": {"columns": 2, "labelLimit": 130},
}
_LABEL = 34
SERIES = 6
OTHERS = "all others"


def bars(rows: Sequence[tuple[str, int, str]], colours: Mapping[str, str], label: str, axis: str) -> str:
    values = [
        # The row's number makes labels that were shortened to one text different; the axis leaves it out.
        {"name": f"{index} {_label(name)}", "number": number, "kind": kind}
        for index, (name, number, kind) in enumerate(rows)
    ]
    return _svg("bars", label, values, colours, axis=axis)


def stacked_by_release(
    counts: Mapping[str, Mapping[str, int]],
    words: Mapping[str, str],
    colours: Mapping[str, str],
    target: str,
    label: str,
) -> str:
    values = [
        {"release": name, "clients": number, "verdict": words[verdict], "order": order}
        for name, clients in counts.items()
        for order, (verdict, number) in enumerate(clients.items())
    ]
    by_word = {words[verdict]: colour for verdict, colour in colours.items()}
    return _svg("releases", label, values, by_word, target=target)


def over_time(
    series: Mapping[str, Sequence[int]], start: int, width: int, label: str, axis: str = "open connections"
) -> str:
    """Draw numbers per bucket of time, stacked by name; start and width of the buckets are in microseconds.

    `axis` is what the numbers count.
    """
    values = [
        {"time": (start + bucket * width) // 1000, "number": number, "name": _label(name), "order": order}
        for order, (name, numbers) in enumerate(series.items())
        for bucket, number in enumerate([*numbers, numbers[-1]])  # twice the last one, so that its step has a width
    ]
    colours = {_label(name): ("var(--rest)" if name == OTHERS else f"var(--s{n})") for n, name in enumerate(series)}
    return _svg("over_time", label, values, colours, axis=axis)


def _label(text: str) -> str:
    return safe(text, _LABEL)


def _svg(plot: str, label: str, values: Sequence[Mapping[str, Any]], colours: Mapping[str, str], **more: Any) -> str:
    parameters = {"values": values, "kinds": list(colours), "colours": list(colours.values()), **more}
    texts = {name: json.dumps(value) for name, value in parameters.items()}
    style = json.loads((files(__package__) / "plot_style.json").read_text("utf-8"))
    text = Template((files(__package__) / f"plot_{plot}.json").read_text("utf-8")).substitute(texts)
    wide = json.loads(text)
    narrow = wide | {"width": _NARROW["width"][plot]}
    narrow_style = style | {name: style[name] | _NARROW[name] for name in ("axis", "legend")}
    return _drawn(wide, style, label, "wide") + _drawn(narrow, narrow_style, label, "narrow")


def _drawn(specification: dict[str, Any], style: dict[str, Any], label: str, screen: str) -> str:
    drawn = ET.fromstring(vl_convert.vegalite_to_svg(specification, config=style))
    _keep_known(drawn)
    for name, value in (("role", "img"), ("aria-label", label), ("class", screen)):
        drawn.set(name, value)
    ET.register_namespace("", _SVG)
    return ET.tostring(drawn, encoding="unicode")


def _keep_known(element: ET.Element) -> None:
    """Remove all but shapes and text, because labels hold texts of clients."""
    for name in [name for name in element.attrib if name not in _ATTRIBUTES]:
        del element.attrib[name]
    for child in list(element):
        if str(child.tag).removeprefix(f"{{{_SVG}}}") in _ELEMENTS:
            _keep_known(child)
        else:
            element.remove(child)
