"""Pages of warehouses, and the data in them."""

import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import Impact, impact
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.report import plots
from kafka_clientinfo.report.contents import report

TARGET = "4.0.1"


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def scope_of(warehouse: Path, **given: Any) -> Scope:
    tables = local_tables(str(warehouse))
    assert tables is not None
    return Scope(tables, Filters(**given))


def report_of(scope: Scope, verdict: Impact | None = None, **given: Any) -> str:
    """Return the page without its plots, which take most of its time."""
    with mock.patch.object(plots, "_svg", return_value="<svg></svg>"):
        return report(scope, verdict or impact(scope, TARGET, True), **given)


def column(data: dict[str, Any], table: str, label: str) -> list[Any]:
    labels = [item["label"] for item in data["tables"][table]["columns"]]
    return [row[labels.index(label)] for row in data["tables"][table]["rows"]]
