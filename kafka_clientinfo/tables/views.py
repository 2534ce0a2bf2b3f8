"""The views: one query for each of the README's questions, in SQL that Spark and DuckDB both accept."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from .. import resources
from ..protocol.error_codes import errors


@dataclass(frozen=True, slots=True)
class View:
    """A query with a name.

    Attributes:
        name: the name of its file, without the suffix.
        comment: the question that it answers, in one sentence.
        sql: the query, with tables in braces, such as `SELECT count(*) FROM {connections}`.
    """

    name: str
    comment: str
    sql: str


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """Return all views of schemas/views by name; the first line of a file is a comment, which becomes the view's.

    `{releases}` in a file stands for the measured releases of Kafka, `{error_codes}` for Kafka's errors: their codes, their
    names, and whether they are retriable. Both are rows of VALUES. The name of a view stands for its query, so that the
    queries returned name tables only.
    """
    files = (file.name for file in (resources.schemas() / "broker_api_ranges").iterdir())
    releases = ", ".join(f"('{name.removesuffix('.json')}')" for name in sorted(files) if name.endswith(".json"))
    known = ", ".join(f"({error.code}, '{error.name}', {error.retriable})" for error in errors().values())
    comments, queries = {}, {}
    for file, text in resources.texts(resources.schemas() / "views", ".sql"):
        name = file.removesuffix(".sql")
        comment, _, query = text.partition("\n")
        comments[name] = comment.removeprefix("-- ").strip()
        queries[name] = query.strip().replace("{releases}", releases).replace("{error_codes}", known)

    def written_out(sql: str) -> str:
        for name, query in queries.items():
            if f"{{{name}}}" in sql:
                sql = sql.replace(f"{{{name}}}", f"({written_out(query)})")
        return sql

    return {name: View(name, comments[name], written_out(query)) for name, query in queries.items()}


def not_a_table(name: str, tables: Iterable[str]) -> str:
    """Return the error for a name that is none of the declared tables; it may be that of a view."""
    if name in views():
        return f"{name} is a view, not a table; read it by its name in a schema of a catalog, or with `kafka-clientinfo sql`"
    return f"no table {name} is declared; known are {', '.join(tables)}"
