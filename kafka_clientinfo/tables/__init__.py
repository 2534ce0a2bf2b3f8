"""Declarations of the Delta tables, of the rules and of the views; no Spark."""

from ..rules import SEVERITY_ORDER, Rule, rules
from .spec import (
    CLIENT,
    CONNECTION_ID_KEY,
    CONNECTION_KEY,
    FILE_ORDER,
    Column,
    TableSpec,
    parse_spec,
    software,
    table_spec,
    table_specs,
)
from .views import View, views

__all__ = [
    "CLIENT",
    "CONNECTION_ID_KEY",
    "CONNECTION_KEY",
    "FILE_ORDER",
    "SEVERITY_ORDER",
    "Column",
    "Rule",
    "TableSpec",
    "View",
    "parse_spec",
    "rules",
    "software",
    "table_spec",
    "table_specs",
    "views",
]
