r"""The address of a warehouse: a folder or URI, or a schema of a catalog. Only this module tells the two apart.

    text                                      | means
    ------------------------------------------|---------------------------------------------------------
    has / or \ or :, or begins with . or ~    | a folder or URI
    schema:NAME, schema:CATALOG.NAME, `NAME`  | a schema, in the session's current catalog if none is named
    CATALOG.NAME, also in backquotes          | a schema; refused if a folder has that name
    a word without any of these               | a folder; refused if the session's catalog keeps tables
    anything else with a dot or a backquote   | nothing: it is refused

A text with two meanings is never guessed; the error names both ways to write it.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.uris import parsed_uri
from ..errors import ConfigError, WarehouseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION_CATALOG = "spark_catalog"
"""Spark's name for the catalog that every session has."""
Conf = Callable[[str], str | None]
"""Returns an entry of a session's conf, None if there is none."""

_DEFAULT_CATALOG = "spark.sql.defaultCatalog"
_METASTORE = "spark.sql.catalogImplementation"
_TABLES_FOLDER = "spark.sql.warehouse.dir"
_PREFIX = "schema:"
_PATH_SIGNS = ("/", "\\", ":")
_PLAIN = r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*"
_QUOTED = r"`[^`]+`"
_NAMES = re.compile(rf"(?:{_PLAIN}|{_QUOTED})(?:\.(?:{_PLAIN}|{_QUOTED}))?")
_NAME = re.compile(rf"{_QUOTED}|{_PLAIN}")
_NOT_IN_NAMES = re.compile(r"[./\\\s]|\$\{")
"""What catalogs refuse in a name, and what Spark replaces in SQL; backquotes are refused too, so quoting is simple."""
_LONGEST_NAME = 255


@dataclass(frozen=True)
class Address:
    """The address of a warehouse's tables.

    Attributes:
        root: the address in messages: the folder (absolute if it is on this machine) or URI, or catalog.schema.
        names: names of the schema, its catalog first if it is known; empty for a folder or URI.
    """

    root: str
    names: tuple[str, ...] = ()

    @property
    def is_schema(self) -> bool:
        """Whether the tables are in a schema, so that the catalog knows where they are stored."""
        return bool(self.names)

    @property
    def folder(self) -> Path | None:
        """The folder on this machine; None for a URI or a schema."""
        return None if self.is_schema else local_folder(self.root)

    @property
    def schema(self) -> str:
        """The name of the schema in SQL."""
        return ".".join(map(_quoted, self.names))

    def table(self, name: str) -> str:
        """Return the name of a table in SQL."""
        return f"{self.schema}.{_quoted(name)}" if self.is_schema else f"delta.{_quoted(self.location(name))}"

    def location(self, name: str) -> str:
        """Return the path or the name of a table, for messages."""
        return f"{self.root}{'.' if self.is_schema else '/'}{name}"


def root_of(warehouse: str | os.PathLike[str]) -> str:
    """Return the text for a warehouse that may be given as a path, which always means a folder."""
    return warehouse if isinstance(warehouse, str) else os.path.abspath(warehouse)


def address_of(text: str, conf: Conf | None = None) -> Address:
    """Return the address that a text means.

    Args:
        text: as given by `--warehouse`.
        conf: conf of the session in which a name would be looked up; None judges the text alone.

    Raises:
        ConfigError: the text has two meanings or none, is a URI with credentials, or names a schema that is lost when the
            session ends.
        WarehouseError: SQL cannot name the path.
    """
    names = _schema_names(text, conf)
    if not names:
        folder = local_folder(text)
        if folder is None and (uri := parsed_uri(text)) is not None:
            uri.check()
        root = text.rstrip("/") if folder is None else str(folder.absolute())
        if "`" in root or "${" in root:  # Delta parses a path as SQL, where Spark replaces variables
            raise WarehouseError(f"the warehouse {root} has a backquote or ${{ in its path; choose another folder")
        return Address(root)
    if conf is not None and not _keeps_tables(conf, *names[:-1]):
        raise ConfigError(
            f"the warehouse {text} is a schema, and the session's catalog forgets its tables when the session ends; give "
            f"the session a metastore ({_METASTORE} = hive), or write ./{_bare(text)} for a folder"
        )
    return Address(_shown(names), names)


def address_in(spark: "SparkSession", text: str) -> Address:
    """Return the address that a text means in a session; that of a schema includes its catalog.

    Raises:
        ConfigError: the text has two meanings, or names a schema that is lost when the session ends.
        WarehouseError: SQL cannot name the path.
    """

    def conf(key: str) -> str | None:
        try:
            return spark.catalog.currentCatalog() if key == _DEFAULT_CATALOG else spark.conf.get(key, None)
        except Exception:  # serverless compute hides entries
            return "unknown"  # any value but in-memory says that the catalog keeps tables

    address = address_of(text, conf)
    if len(address.names) != 1:
        return address
    return address_of(f"schema:`{spark.catalog.currentCatalog()}`.{address.schema}", conf)


def address_before(text: str, conf: Mapping[str, str]) -> Address:
    """Return the address that a text means for a local session that will be started with this conf.

    Raises:
        ConfigError: as for `address_of`; also if the conf has no catalog of that name, or its catalog has no folder.
    """
    address = address_of(text, conf.get)
    if not address.is_schema:
        return address
    catalog = address.names[0] if len(address.names) > 1 else conf.get(_DEFAULT_CATALOG, SESSION_CATALOG)
    if not _is_session_catalog(catalog):
        if f"spark.sql.catalog.{catalog}" not in conf:
            raise ConfigError(no_catalog(address, catalog))
    elif _TABLES_FOLDER not in conf:
        raise ConfigError(
            f"the warehouse {address.root} is a schema, and the settings do not say where its catalog keeps tables; name a "
            f"folder: {_TABLES_FOLDER}"
        )
    return address


def no_catalog(address: Address, catalog: str) -> str:
    """Return the error text for an address with a catalog that the session does not have."""
    return (
        f"the warehouse {address.root} is a schema of the catalog {catalog}, which the session does not have; give it "
        f"one (spark.sql.catalog.{catalog}), or write ./{_bare(address.root)} for a folder"
    )


def local_folder(text: str) -> Path | None:
    """Return the folder on this machine that a text means; None for any other address.

    If the folder has `..` in it, it is resolved: the system looks for `link/..` where the link leads, Spark does not.
    """
    if text.startswith("file:"):
        return _without_dots(Path("/" + text.removeprefix("file:").lstrip("/")))
    is_elsewhere = "://" in text or text.startswith("dbfs:") or _schema_names(text, None)
    return None if is_elsewhere else _without_dots(Path(text))


def _without_dots(folder: Path) -> Path:
    return Path(os.path.realpath(folder)) if ".." in folder.parts else folder


def _schema_names(text: str, conf: Conf | None) -> tuple[str, ...]:
    """Return the names of the schema that a text means; none for a folder or URI."""
    if text.startswith(_PREFIX):
        return _checked_names(text, text.removeprefix(_PREFIX))
    if any(sign in text for sign in _PATH_SIGNS) or text.startswith((".", "~")):
        return ()
    if "`" in text:
        return _checked_names(text, text)
    if "." not in text:
        if conf is not None and _keeps_tables(conf):
            raise _ambiguous(text, f"{_PREFIX}{text if re.fullmatch(_PLAIN, text) else _quoted(text)}")
        return ()
    if _NAMES.fullmatch(text) is None:
        raise _ambiguous(text, f"{_PREFIX}CATALOG.SCHEMA, each in backquotes where it is no plain word,")
    if Path(text).is_dir():
        raise _ambiguous(text, f"{_PREFIX}{text}")
    return _checked_names(text, text)


def _ambiguous(text: str, as_schema: str) -> ConfigError:
    return ConfigError(
        f"the warehouse {text} can be a folder or a schema of a catalog; write ./{text} for the folder, {as_schema} for "
        "the schema"
    )


def _checked_names(text: str, names: str) -> tuple[str, ...]:
    """Return the names in `names` without backquotes.

    Raises:
        ConfigError: they name no schema; it quotes the whole address `text`.
    """
    parts = tuple(part.strip("`") for part in _NAME.findall(names)) if _NAMES.fullmatch(names) else ()
    if not parts or any(not _is_name(part) for part in parts):
        raise ConfigError(
            f"the warehouse {text} names no schema; give CATALOG.SCHEMA, with a name that is no plain word in backquotes, "
            "and without blanks, dots, slashes and ${ in it"
        )
    return parts


def _is_name(part: str) -> bool:
    return part.isprintable() and len(part) <= _LONGEST_NAME and _NOT_IN_NAMES.search(part) is None


def _keeps_tables(conf: Conf, catalog: str | None = None) -> bool:
    """Return whether tables made in a catalog, or in the session's current one, still exist in the next session."""
    catalog = catalog or conf(_DEFAULT_CATALOG) or SESSION_CATALOG
    return not _is_session_catalog(catalog) or (conf(_METASTORE) or "in-memory") != "in-memory"


def _is_session_catalog(name: str) -> bool:
    return name.lower() == SESSION_CATALOG


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _shown(names: tuple[str, ...]) -> str:
    return ".".join(name if re.fullmatch(_PLAIN, name) else _quoted(name) for name in names)


def _bare(text: str) -> str:
    return text.removeprefix(_PREFIX).replace("`", "")
