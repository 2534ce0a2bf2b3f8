"""The views: one query for each question that the README begins with, as SQL that Spark and DuckDB read alike."""

from dataclasses import dataclass
from functools import lru_cache

from .. import resources


@dataclass(frozen=True, slots=True)
class View:
    """A query with a name.

    Attributes:
        name: its file's, without the suffix.
        comment: what it answers, one sentence.
        sql: the query, which names tables in braces, as in `SELECT count(*) FROM {connections}`.
    """

    name: str
    comment: str
    sql: str


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """All views of schemas/views by name; the first line of a file is a comment, which says what the view answers."""
    found = {}
    for file, text in resources.texts(resources.schemas() / "views", ".sql"):
        comment, _, query = text.partition("\n")
        name = file.removesuffix(".sql")
        found[name] = View(name, comment.removeprefix("-- ").strip(), query.strip())
    return found
