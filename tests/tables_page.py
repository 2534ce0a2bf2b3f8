"""schemas/tables.md from the declarations; `python -m tests.tables_page` writes it, a test compares it."""

import sys
from pathlib import Path

from kafka_clientinfo.config.rules import Rule, rules
from kafka_clientinfo.tables.spec import TableSpec, table_specs, view_specs
from tests.bytes_fields import BytesField, bytes_fields

_HEAD = """# Tables and views

Generated from `schemas/tables/`, `schemas/views/` and `schemas/rules/` by `make docs`; edit those. The tables are Delta tables
without deletion vectors, so delta-rs, DuckDB and Polars read them. The views are SQL over the tables: in a catalog they stand
beside the tables, in a folder `duckdb -init views.sql` has them, and `kafka-clientinfo sql` answers them anywhere. Times are
UTC. Bold columns are never null.
"""


def _table(spec: TableSpec) -> str:
    key = f"Key: {', '.join(spec.key)}." + (f" Clustered by {', '.join(spec.cluster_by)}." if spec.cluster_by else "")
    lines = [f"### {spec.name}", "", spec.comment, "", key, "", "| column | type | meaning |", "|---|---|---|"]
    for column in spec.columns:
        name = f"**{column.name}**" if column.required else column.name
        lines.append(f"| {name} | {column.type} | {column.comment.replace('|', chr(92) + '|')} |")
    checks = [f"- {name}: `{expression}`" for name, expression in spec.checks]
    return "\n".join([*lines, *(["", "Checks:", "", *checks] if checks else [])])


def _rule(rule: Rule) -> str:
    source = f"{rule.kip}, " if rule.kip else ""
    blames = {"either": "blames either side", "nobody": "blames nobody"}.get(rule.blames, f"blames the {rule.blames}")
    return f"- **{rule.name}** ({source}{rule.severity}, {blames}): {rule.what}. Asked: {rule.asks}. {rule.advice}"


_RULES = """## Rules of violations

Declared in `schemas/rules/`, a file per concern.
"""
_BYTES = """## Bytes fields (KIP-559)

Which bytes in Kafka's messages can be read on their own, by version; declared in `schemas/bytes_fields.toml`.
`group_protocols` counts the group messages of both kinds.

| API | message | field | self-describing | gap | read by |
|---|---|---|---|---|---|"""


def _bytes(f: BytesField) -> str:
    return f"| {f.api} | {f.message} | {f.field} | {f.self_describing} | {f.gap or '–'} | {f.read_by} |"


def markdown() -> str:
    """The whole page."""
    specs = [("Tables", table_specs()), ("Views", view_specs())]
    parts = [part for title, of in specs for part in (f"## {title}", *map(_table, of.values()))]
    parts += ["\n".join([_RULES, *map(_rule, rules().values())]), "\n".join([_BYTES, *map(_bytes, bytes_fields())])]
    return "\n\n".join([_HEAD.rstrip(), *parts]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "schemas/tables.md").write_text(markdown(), encoding="utf-8")
