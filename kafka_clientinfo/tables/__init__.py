"""Declarations of the Delta tables and of the rules; no Spark."""

from .rules import SEVERITY_ORDER, Rule, rules
from .spec import CONNECTION_ID_KEY, CONNECTION_KEY, Column, TableSpec, parse_spec, table_spec, table_specs

__all__ = [
    "CONNECTION_ID_KEY",
    "CONNECTION_KEY",
    "SEVERITY_ORDER",
    "Column",
    "Rule",
    "TableSpec",
    "parse_spec",
    "rules",
    "table_spec",
    "table_specs",
]
