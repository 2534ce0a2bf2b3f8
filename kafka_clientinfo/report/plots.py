"""Plots as SVG that takes its colours from the page's style sheet: specifications of Vega-Lite, rendered by vl-convert."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any

import vl_convert

from ..console import safe

_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle"})
_ATTRIBUTES = frozenset(
    {
        "cx", "cy", "d", "dx", "dy", "fill", "fill-opacity", "font-size", "font-weight", "height",
        "opacity", "r", "stroke", "stroke-dasharray", "stroke-miterlimit", "stroke-width", "text-anchor", "transform",
        "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2",
    }
)  # fmt: skip
_TIMES = {
    "seconds": "%H:%M:%S",
    **dict.fromkeys(("minutes", "hours"), "%H:%M"),
    **dict.fromkeys(("date", "day", "week", "month"), "%d %b"),
    "year": "%Y",
}
_LABEL = 34
"""Characters of a label."""
SERIES = 6
"""Names that a plot tells apart; the others are one."""
OTHERS = "all others"

# The page shows texts a little smaller than the plot is laid out for, as a browser's font may be wider.
_CONFIG: Mapping[str, Any] = {
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)", "titleColor": "var(--muted)", "gridColor": "var(--line)", "domainColor": "var(--line)",
        "tickColor": "var(--line)", "labelFontSize": 13, "titleFontSize": 13, "titleFontWeight": "normal", "labelLimit": 300,
    },
    "legend": {
        "labelColor": "var(--ink)", "labelFontSize": 13, "columnPadding": 22, "title": None, "orient": "top", "labelLimit": 260, "symbolType": "square",
    },
    "bar": {"cornerRadiusEnd": 2},
}  # fmt: skip


def bars(rows: Sequence[tuple[str, int, str]], colours: Mapping[str, str], label: str, axis: str) -> str:
    """Horizontal bars, one per row of name, number and kind.

    Args:
        rows: in order.
        colours: custom property of the style sheet by kind.
        label: what the plot shows, for who cannot see it.
        axis: what the numbers count.

    Returns:
        An element `svg`.
    """
    values = [
        {"name": f"{place} {_label(name)}", "number": number, "kind": kind}
        for place, (name, number, kind) in enumerate(rows)
    ]
    place_off = "slice(datum.label, indexof(datum.label, ' ') + 1)"
    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelExpr": place_off, "ticks": False, "domain": False},
    }
    base = {"y": y, "x": _count("number", axis)}
    text = {
        "mark": {"type": "text", "align": "left", "dx": 4, "color": "var(--ink)", "fontSize": 13},
        "encoding": base | {"text": {"field": "number", "format": ",d"}},
    }
    drawn = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": base | {"color": _colour("kind", colours, legend=False)},
    }
    return _svg(values, label, width=860, height={"step": 22}, layer=[drawn, text])


def stacked_by_release(
    counts: Mapping[str, Mapping[str, int]],
    words: Mapping[str, str],
    colours: Mapping[str, str],
    target: str,
    label: str,
) -> str:
    """One column per release, its clients stacked by verdict; the target is marked."""
    values = [
        {"release": name, "clients": number, "verdict": words[verdict], "order": place}
        for name, by in counts.items()
        for place, (verdict, number) in enumerate(by.items())
    ]
    x = {
        "field": "release",
        "type": "ordinal",
        "sort": list(counts),
        "title": None,
        "axis": {
            "labelAngle": -60,
            "labelFontWeight": _where("value", target, "bold", "normal"),
            "labelColor": _where("value", target, "var(--ink)", "var(--muted)"),
        },
    }
    encoding = {
        "x": x,
        "y": _count("clients", "clients"),
        "color": _colour("verdict", {words[verdict]: colour for verdict, colour in colours.items()}, legend=True),
        "order": {"field": "order"},
        "opacity": _where("release", target, 1, 0.62),
    }
    return _svg(values, label, width=1120, height=190, mark={"type": "bar", "cornerRadiusEnd": 0}, encoding=encoding)


def over_time(series: Mapping[str, Sequence[int]], start: int, width: int, label: str) -> str:
    """Numbers per bucket of time, stacked by name; start and width of the buckets are in microseconds."""
    names = list(series)
    values = [
        {"time": (start + place * width) // 1000, "open": number, "name": _label(name), "order": order}
        for order, (name, line) in enumerate(series.items())
        for place, number in enumerate([*line, line[-1]])
    ]
    colours = {_label(name): ("var(--rest)" if name == OTHERS else f"var(--s{n})") for n, name in enumerate(names)}
    encoding = {
        "x": {
            "field": "time",
            "type": "temporal",
            "scale": {"type": "utc"},
            "title": "time, UTC",
            "axis": {"grid": False, "labelOverlap": True, "format": _TIMES},
        },
        "y": _count("open", "open connections") | {"stack": True},
        "color": _colour("name", colours, legend=True),
        "order": {"field": "order"},
    }
    mark = {"type": "area", "interpolate": "step-after"}
    return _svg(values, label, width=1120, height=220, mark=mark, encoding=encoding)


def _label(text: str) -> str:
    return safe(text, _LABEL)


def _count(field: str, title: str) -> dict[str, Any]:
    axis = {"format": ",d", "tickMinStep": 1, "tickCount": 5}
    return {"field": field, "type": "quantitative", "title": title, "axis": axis}


def _where(field: str, text: str, value: object, otherwise: object) -> dict[str, Any]:
    """A value for what has a text in a field, and one for everything else."""
    return {"condition": {"test": f"datum.{field} === '{text}'", "value": value}, "value": otherwise}


def _colour(field: str, colours: Mapping[str, str], legend: bool) -> dict[str, Any]:
    colour: dict[str, Any] = {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(colours), "range": list(colours.values())},
    }
    return colour if legend else colour | {"legend": None}


def _svg(values: Sequence[Mapping[str, Any]], label: str, **spec: Any) -> str:
    drawn = ET.fromstring(vl_convert.vegalite_to_svg({"data": {"values": values}, **spec, "config": _CONFIG}))
    _keep_known(drawn)
    drawn.set("role", "img")
    drawn.set("aria-label", label)
    ET.register_namespace("", _SVG)
    return ET.tostring(drawn, encoding="unicode")


def _keep_known(element: ET.Element) -> None:
    """Take away all but shapes and text, as labels hold what clients wrote."""
    for name in [name for name in element.attrib if name not in _ATTRIBUTES]:
        del element.attrib[name]
    for child in list(element):
        if str(child.tag).removeprefix(f"{{{_SVG}}}") in _ELEMENTS:
            _keep_known(child)
        else:
            element.remove(child)
