"""The command `verify`: checks the tables of a warehouse and lists the rows that fail."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..printable import safe
from . import text_tables
from .context import Context, add_common

if TYPE_CHECKING:
    from ..questions.checks import Check

HELP = "check the tables: layout, files, keys, connections"
EXAMPLES = ("verify --warehouse /data/clientinfo", "verify --quick --warehouse /data/clientinfo")
_REST = "Keys, and connections against requests, are checked without --quick."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    quick = "check only layout, files and build, which needs no Spark if the warehouse is on this machine"
    parser.add_argument("--quick", action="store_true", help=quick)
    add_common(parser)


def execute(context: Context) -> int:
    if context.arguments.quick:
        from ..questions.checks import quick_checks

        checks = quick_checks(context.tables(), context.warehouse)
    else:
        spark = context.session()
        from ..questions.verification import verify

        checks = verify(spark, context.warehouse)
    rest = f"\n\n{_REST}" if context.arguments.quick else ""
    text_tables.output(as_json(checks) if context.arguments.json else as_text(checks) + rest)
    return 0 if all(check.ok for check in checks) else 1


def as_json(checks: "Sequence[Check]") -> str:
    listed = [{**asdict(check), "ok": check.ok} for check in checks]
    return json.dumps({"ok": all(c.ok for c in checks), "checks": listed}, ensure_ascii=True, default=str)


def as_text(checks: "Sequence[Check]") -> str:
    lines = [("ok" if c.ok else "FAILED", c.name, "" if c.ok else f"{c.failed:,}", c.requirement) for c in checks]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    padded = ([*(t.ljust(w) for t, w in zip(line, widths, strict=False)), line[3]] for line in lines)
    table = "\n".join(map("  ".join, padded))
    return "\n\n".join([table, *(_disagreement(check) for check in checks if not check.ok)])


def _disagreement(check: "Check") -> str:
    rows = [" ".join(f"{key}={safe(value, 80)}" for key, value in row.items()) for row in check.findings]
    lines = [f"{check.name}: {check.advice}", *(f"  {row}" for row in rows)]
    more = check.failed - len(check.findings)
    if more > 0:
        lines.append(f"  and {more:,} more")
    return "\n".join(lines)
