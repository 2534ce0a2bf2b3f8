"""The command `sql`: answers a query on tables and views by their names; the query cannot write."""

import argparse
import re
from dataclasses import replace
from difflib import get_close_matches
from itertools import takewhile

from ..errors import ConfigError
from ..printable import argument
from ..tables.spec import relation_specs
from ..tables.views import views
from ..warehouse.state import require_state
from .context import Context, add_warehouse, notes_on
from .output import add_formats, ask, limit_of, show

HELP = "answer a query on the tables, and on the views of `tables`"
EXAMPLES = (
    "sql --warehouse /data/clientinfo 'SELECT * FROM who_connects'",
    "sql --warehouse /data/clientinfo \"SELECT * FROM who_breaks WHERE refused_by['4.0.1'] IS NOT NULL\" --csv",
)
_LIMIT = 1000

_WRITING_STATEMENTS = frozenset(
    {
        "ALTER", "ATTACH", "CALL", "COPY", "CREATE", "DELETE", "DETACH", "DROP", "EXPORT", "IMPORT", "INSERT", "INSTALL",
        "LOAD", "MERGE", "OPTIMIZE", "REPLACE", "SET", "TRUNCATE", "UPDATE", "VACUUM",
    }
)  # fmt: skip
_NO_TABLE = re.compile(r"(?:Catalog Error: )?Table with name (\w+) does not exist!")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("statement", metavar="QUERY", help="one query in SQL that DuckDB (here) or Spark reads")
    add_warehouse(parser)
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    query = argument("the query", context.arguments.statement)
    if not query.strip(" ;\n"):
        raise ConfigError(f"the query is {query!r}; give one such as SELECT * FROM who_connects")
    if (first := query.split(maxsplit=1)[0].upper()) in _WRITING_STATEMENTS:
        raise ConfigError(f"the query begins with {first}, and can only read; give a SELECT")
    tables = context.tables()
    state = require_state(tables.state(), context.warehouse)
    try:
        answer = ask(tables, "", read_only(query), None, limit_of(context.arguments))
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb", "pyspark"):
            raise ConfigError(f"the query cannot be answered: {_reason(error)}") from None
        raise
    show(context.arguments, [replace(answer, whole=frozenset({"principal"}))], notes_on(state, context.warehouse))


def read_only(query: str) -> str:
    """Return a SELECT with the query as its subquery and the tables and views that it names as WITH clauses.

    A statement that writes cannot be a subquery, so that the engine refuses it.
    """
    definitions = {name: f"SELECT * FROM {{{name}}}" for name in relation_specs()}
    definitions |= {name: view.sql for name, view in views().items()}
    words = set(re.findall(r"\w+", query.lower()))
    parts = ", ".join(f"{name} AS ({sql})" for name, sql in definitions.items() if name in words)
    text = query.strip().rstrip(";").replace("{", "{{").replace("}", "}}")
    return f"{f'WITH {parts} ' if parts else ''}SELECT * FROM (\n{text}\n) AS answer"


def _reason(error: Exception) -> str:
    """Return the engine's message about a query, without the query and the stack.

    In place of the engine's own guess, it names the table or view with the name nearest to one that does not exist.
    """
    lines = takewhile(lambda line: not line.startswith(("LINE ", "==", ";", "\tat ")), str(error).splitlines())
    text = " ".join(line.strip() for line in lines if line.strip())
    if (missing := _NO_TABLE.match(text)) is None:
        return text
    near = get_close_matches(missing[1].lower(), [*relation_specs(), *views()], 1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"there is no table or view {missing[1]}; {guess}`kafka-clientinfo tables` lists them"
