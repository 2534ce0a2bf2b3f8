"""Writes the pages of the site that are made of the package itself: commands, settings, tables. A hook of MkDocs."""

import argparse
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from kafka_clientinfo.cli import command_line
from kafka_clientinfo.commands import COMMANDS
from kafka_clientinfo.tables.views import views

ROOT = Path(__file__).parents[1]
QUESTIONS = {
    "who_connects": ("Who connects?", "clients"),
    "who_breaks": ("Who breaks when we upgrade?", "upgrade --target 4.0.1"),
    "how_clients_negotiate": ("How did each client negotiate?", 'sql "SELECT * FROM how_clients_negotiate"'),
    "who_misbehaves": (
        "Who misbehaves, whom does each finding blame, and where does it stand in the log?",
        "violations",
    ),
    "why_unknown": ("Why is this client unknown, and what is it probably?", 'sql "SELECT * FROM why_unknown"'),
    "client_processes": ("Which process is it?", 'sql "SELECT * FROM client_processes"'),
    "client_id_caching": ("What would client-id caching save?", 'sql "SELECT * FROM client_id_caching"'),
    "who_uses_topics": ("Who uses a topic, and which are unused?", "topics"),
    "who_is_slow": ("Who is slow, and who is throttled?", "activity --top p99"),
    "who_floods": ("Who floods the brokers?", "activity"),
    "why_rebalanced": ("Why did a group rebalance?", 'sql "SELECT * FROM why_rebalanced"'),
}
"""The questions by view: in words, and the command that answers."""


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to those of docs/."""
    pages = {
        "reference/commands.md": commands(),
        "reference/settings.md": settings(),
        "howto/questions.md": questions(),
        "reference/tables.md": (ROOT / "schemas" / "tables.md").read_text("utf-8"),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def commands() -> str:
    """Every command with its help, as `--help` prints it on a wide terminal."""
    parts = ["# Commands\n\n`kafka-clientinfo COMMAND --help` prints the same.\n"]
    [action] = [item for item in command_line()._actions if isinstance(item, argparse._SubParsersAction)]
    for name in COMMANDS:
        parser = action.choices[name]
        parser.formatter_class = _wide(parser.formatter_class)
        parts.append(f"## {name}\n\n```text\n{parser.format_help().rstrip()}\n```\n")
    return "\n".join(parts)


def _wide(formatter: Any) -> Any:
    return lambda prog: formatter(prog, width=100)


def questions() -> str:
    """The questions, each with its command and its query."""
    parts = [
        "# The questions\n\nEach has a command and a query (a view of that name where tables are in a catalog; `sql` knows it "
        "everywhere), and the [report](report.md) answers it too; all give the same figures.\n"
    ]
    for name, (question, command) in QUESTIONS.items():
        view = views()[name]
        query = re.sub(r"{(\w+)}", r"\1", view.sql)
        parts.append(
            f"## {question}\n\n{view.comment}\n\n```\nkafka-clientinfo {command} --warehouse /data/clientinfo\n```\n\n"
            f"```sql\n-- {name}\n{query}\n```\n"
        )
    others = (name for name in views() if name not in QUESTIONS)
    parts.append("## Other views\n\n| view | answers |\n|---|---|")
    parts += [f"| `{name}` | {views()[name].comment} |" for name in others]
    return "\n".join(parts) + "\n"


def settings() -> str:
    """The file of defaults, which explains each setting."""
    text = (ROOT / "conf" / "local.toml").read_text("utf-8")
    return (
        "# Settings\n\nThese are the defaults (`conf/local.toml`). A file given by `--conf` holds those that are to be others; under "
        f"spark-submit each is also the conf `spark.kafka_clientinfo.NAME`.\n\n```toml\n{text}```\n"
    )
