"""The views: queries in SQL that Spark and DuckDB both run, in schemas/views.

    file                 | is                                                | answered from
    ---------------------|---------------------------------------------------|-------------------------------------------
    NAME.sql             | one of the README's questions                     | tables and declared views
    NAME.sql, NAME.toml  | a declared view, with types and comments of its   | stored tables and other views
                         | columns, as a table has                           |
    internal/NAME.sql    | a part that declared views share                  | the same

In a file's braces stand the names of tables and views, of relations of the package's own data (`references`), and of
the settings on which views depend (`ViewSettings`). The first line of a file is a comment, which says what it answers.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import Any

from .. import resources
from ..config.rules import SEVERITIES, rules
from ..config.settings import Settings
from ..logs.apis import SERVED_BY_BROKERS, SERVED_BY_CONTROLLERS
from ..logs.connection import MASKED_IDS
from ..protocol import api_names
from ..protocol.api_keys import errors
from ..releases.broker_releases import features
from ..releases.client_libraries import BINDINGS, client_library_rows
from . import dialects
from .spec import RUN, RUNS, table_specs, view_specs
from .types import duckdb_type, quoted_name, quoted_text


@dataclass(frozen=True, slots=True)
class View:
    """A question of the README: its file's name, what it answers in a sentence, and the query with tables in braces."""

    name: str
    comment: str
    sql: str


@dataclass(frozen=True)
class ViewSettings:
    """The settings of a build on which the views over its tables depend; see `Settings` and `ActivityLimits`."""

    bucket_minutes: int = 60
    unused_topic_hours: int = 24
    max_idle_ms: int = 600_000
    log_zone: str = "UTC"
    controller_listeners: tuple[str, ...] = ("CONTROLLER",)
    severity: Mapping[str, str] = field(default_factory=dict)
    activity: Mapping[str, int] = field(default_factory=lambda: asdict(Settings().policy.activity))

    @classmethod
    def of(cls, settings: Settings) -> "ViewSettings":
        names = ("bucket_minutes", "unused_topic_hours", "max_idle_ms", "log_zone", "controller_listeners")
        same = {name: getattr(settings, name) for name in names}
        return cls(**same, severity=dict(settings.policy.severity), activity=asdict(settings.policy.activity))

    @classmethod
    def stored(cls, data: Mapping[str, Any] | None) -> "ViewSettings":
        """Return those that `as_dict` made; the defaults for those that an earlier release did not store."""
        known = {one.name: data[one.name] for one in fields(cls) if data and one.name in data}
        return cls(**known | {"controller_listeners": tuple(known.get("controller_listeners", ("CONTROLLER",)))})

    @property
    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "controller_listeners": list(self.controller_listeners)}

    @property
    def texts(self) -> dict[str, str]:
        """SQL for each setting that a view names in braces, and for the rules of violations with their severities.

        `severity_unbound` and `blames_unbound` hold for a finding where the KIP does not bind.
        """
        listeners = ", ".join(map(quoted_text, self.controller_listeners or ("",)))
        numbers = {**self.activity, "bucket_minutes": self.bucket_minutes, "max_idle_ms": self.max_idle_ms}
        numbers["unused_topic_hours"] = self.unused_topic_hours
        numbers["bucket_seconds"] = self.bucket_minutes * 60
        own = self.severity
        rows = (
            (
                name,
                rule.kip,
                own.get(name, rule.severity),
                own.get(name, SEVERITIES[-1]),
                rule.blames,
                rule.blames_as_information,
                rule.asks,
            )
            for name, rule in rules().items()
        )
        return {
            **{name: str(int(number)) for name, number in numbers.items()},
            "controller_listeners": f"({listeners})",
            "violation_rules": _relation("rule kip severity severity_unbound blames blames_unbound asks", rows),
        }


def _relation(columns: str, rows: Iterable[Sequence[str | int | None]]) -> str:
    def value(one: str | int | None) -> str:
        if isinstance(one, str):
            return quoted_text(one)
        return "NULL" if one is None else str(one).lower()

    values = ", ".join(f"({', '.join(map(value, row))})" for row in rows)
    return f"(SELECT * FROM (VALUES {values}) AS reference({', '.join(columns.split())}))"


@lru_cache(maxsize=1)
def references() -> dict[str, str]:
    """Return SQL for the relations of the package's own data, by name: APIs, errors, libraries, features; and for a pattern."""
    needs = (
        (feature.name, feature.kip, int(key), low, high)
        for feature in features().values()
        for key, (low, high) in feature.needs.items()
    )
    apis = (
        (key, name, key in SERVED_BY_BROKERS, key in SERVED_BY_CONTROLLERS) for key, name in sorted(api_names().items())
    )
    return {
        "feature_needs": _relation("feature kip api_key min_version max_version", needs),
        "client_libraries": _relation("library software_name version_settings", client_library_rows()),
        "api_names": _relation("api_key api_name served_by_brokers_only served_by_controllers_only", apis),
        "masked_ids": quoted_text(MASKED_IDS),
        "bindings": _relation("name_start library", BINDINGS.items()),
        "kafka_errors": _relation(
            "error_code error_name is_retriable", ((one.code, one.name, one.retriable) for one in errors().values())
        ),
    }


@dataclass(frozen=True, slots=True)
class Dialect:
    translated: Callable[[str, str], str]
    cast: Callable[[str, str], str]


SPARK = Dialect(dialects.spark_sql, lambda name, kind: f"CAST(`{name}` AS {kind}) AS `{name}`")
DUCKDB = Dialect(
    lambda text, _: dialects.duckdb_sql(text),
    lambda name, kind: f"CAST({quoted_name(name)} AS {duckdb_type(kind)}) AS {quoted_name(name)}",
)


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """Return the README's questions by name; the first line of a file is a comment, which becomes the view's.

    The name of a question, of a part of declared views, or of one of the package's relations stands for its query, so that
    the queries returned name only tables and declared views.
    """
    parts = {name: f"({query})" for name, query in definitions().items() if name not in view_specs()}
    questions = {name: text for name, text in _files().items() if name not in definitions()}
    relations = references() | parts | {name: f"({query})" for name, (_, query) in questions.items()}

    def written_out(query: str) -> str:
        return _WORD.sub(lambda name: written_out(relations[name[1]]) if name[1] in relations else name[0], query)

    return {name: View(name, comment, written_out(query)) for name, (comment, query) in questions.items()}


def query_of(name: str) -> str:
    """Return the query of a question, or of all rows of a table or declared view, with names of these in braces."""
    return views()[name].sql if name in views() else f"SELECT * FROM {{{name}}}"


@lru_cache(maxsize=1)
def definitions() -> dict[str, str]:
    """Return the queries of the declared views and of their parts, as written, each after those that it reads."""
    inner = resources.texts(resources.schemas() / "views" / "internal", ".sql")
    parts = {name.removesuffix(".sql"): text.partition("\n")[2].strip() for name, text in inner}
    queries = {name: query for name, (_, query) in _files().items() if name in view_specs()} | parts
    order = TopologicalSorter({name: words(query) for name, query in queries.items()}).static_order()
    return {name: queries[name] for name in order if name in queries}


@lru_cache(maxsize=1)
def _files() -> dict[str, tuple[str, str]]:
    files = {}
    for file, text in resources.texts(resources.schemas() / "views", ".sql"):
        comment, _, query = text.partition("\n")
        files[file.removesuffix(".sql")] = comment.removeprefix("-- ").strip(), query.strip()
    return files


_WORD = re.compile(r"\{([a-z]\w*)\}")


def words(query: str) -> list[str]:
    """Return the names in a query's braces, each once; other braces are those of regular expressions."""
    return list(dict.fromkeys(_WORD.findall(query)))


def is_view(name: str) -> bool:
    return name in definitions()


def stored_tables(name: str) -> list[str]:
    """Return the names of the stored tables that a view is answered from; of a table, its own."""
    if name not in views() and not is_view(name):
        return [name] if name in table_specs() else []
    query = definitions()[name] if is_view(name) else query_of(name)
    return list(dict.fromkeys(table for other in words(query) for table in stored_tables(other)))


def definition(name: str, dialect: Dialect, settings: ViewSettings, relation: Callable[[str], str]) -> str:
    """Return the query of a declared view, or of a part of one, for an engine; columns have their declared types.

    `settings` are those of the build that wrote the tables; `relation` returns SQL for a table or another view.
    """
    query = definitions()[name]
    given = {**{other: f"\0{other}\0" for other in words(query)}, **references(), **settings.texts}
    text = dialect.translated(_WORD.sub(lambda match: given[match[1]], query), settings.log_zone)
    for other in words(query):
        text = text.replace(f"\0{other}\0", relation(other)) if f"\0{other}\0" in text else text
    if name not in view_specs():
        return text
    casts = (dialect.cast(column.name, column.type) for column in view_specs()[name].columns)
    return f"SELECT {', '.join(casts)} FROM (\n{text}\n) AS {name}"


def ended_runs_only(name: str, relation: Callable[[str], str]) -> str:
    """Return SQL for a table or view as views read it: only rows of runs that ended.

    Before a run commits, it takes back what unended runs before it wrote, so that it is enough to compare with the newest
    number in `runs`. Rows that a release without `runs` wrote have no number.
    """
    rows, spec = relation(name), table_specs().get(name)
    if spec is None or not spec.by_run:
        return rows
    return f"(SELECT * FROM {rows} WHERE {RUN} IS NULL OR {RUN} <= (SELECT max({RUN}) FROM {relation(RUNS)}))"


def not_a_table(name: str, tables: Iterable[str]) -> str:
    if name in views() or is_view(name):
        return f"{name} is a view, not a table; read it by its name in a schema of a catalog, or with `kafka-clientinfo sql`"
    return f"no table {name} is declared; known are {', '.join(tables)}"
