"""The views: one query for each question that the README begins with, as SQL that Spark and DuckDB read alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from .. import resources
from ..errors import TableSpecError

_COMMENT = "-- "


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


def parse_view(text: str, name: str) -> View:
    """A view from the text of its file, whose first line is a comment.

    Raises:
        TableSpecError: where that line is missing.
    """
    first, _, sql = text.partition("\n")
    if not first.startswith(_COMMENT):
        raise TableSpecError(f"schemas/views/{name}.sql begins with {first!r}; begin with -- and what the view answers")
    return View(name, first.removeprefix(_COMMENT).strip(), sql.strip())


@lru_cache(maxsize=1)
def views() -> Mapping[str, View]:
    """All views of schemas/views by name."""
    texts = resources.texts(resources.schemas() / "views", ".sql")
    names = ((file.removesuffix(".sql"), text) for file, text in texts)
    return MappingProxyType({name: parse_view(text, name) for name, text in names})
