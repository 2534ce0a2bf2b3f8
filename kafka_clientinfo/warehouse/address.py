"""The address of a warehouse: a folder or URI, or a schema of a catalog. Only this module tells the two apart.

CATALOG.SCHEMA is a schema. Any text with a slash or colon, one that begins with a dot, and a word without a dot is a folder or URI.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..config.uris import parsed_uri
from ..errors import ConfigError, WarehouseError

_SESSION_CATALOG = "spark_catalog"
_METASTORE = "spark.sql.catalogImplementation"
_TABLES_FOLDER = "spark.sql.warehouse.dir"
_NAME = r"`([^`]+)`|([^`.]+)"
_NAMES = re.compile(rf"(?:{_NAME})\.(?:{_NAME})")
_NOT_IN_NAMES = re.compile(r"[.\\\s]|\$\{")
"""What catalogs refuse in a name, and what Spark replaces in SQL."""


@dataclass(frozen=True)
class Address:
    root: str
    """The address in messages: the folder (absolute if it is on this machine) or URI, or catalog.schema."""
    names: tuple[str, ...] = ()
    """The names of the catalog and the schema; empty for a folder or URI."""

    @property
    def is_schema(self) -> bool:
        """Whether the tables are in a schema, so that the catalog knows where they are stored."""
        return bool(self.names)

    @property
    def folder(self) -> Path | None:
        return None if self.is_schema else local_folder(self.root)

    @property
    def schema(self) -> str:
        return ".".join(f"`{name}`" for name in self.names)

    def table(self, name: str) -> str:
        return f"{self.schema}.`{name}`" if self.is_schema else f"delta.`{self.location(name)}`"

    def location(self, name: str) -> str:
        return f"{self.root}{'.' if self.is_schema else '/'}{name}"


def root_of(warehouse: str | os.PathLike[str]) -> str:
    """Return the text for a warehouse that may be given as a path, which always means a folder."""
    return warehouse if isinstance(warehouse, str) else os.path.abspath(warehouse)


def is_path(text: str) -> bool:
    return bool({"/", ":"} & set(text)) or text.startswith(".") or bool(text and not {".", "`"} & set(text))


def address_of(text: str) -> Address:
    if not is_path(text):
        names = _names(text)
        shown = (name if re.fullmatch(r"\w*[A-Za-z_]\w*", name, re.A) else f"`{name}`" for name in names)
        return Address(".".join(shown), names)
    folder = local_folder(text)
    if folder is None and (uri := parsed_uri(text)) is not None:
        uri.check()
    root = text.rstrip("/") if folder is None else str(folder.absolute())
    if "`" in root or "${" in root:  # Delta parses a path as SQL, where Spark replaces variables
        raise WarehouseError(f"the warehouse {root} has a backquote or ${{ in its path; choose another folder")
    return Address(root)


def check_before(text: str, conf: Mapping[str, str]) -> None:
    """Raise ConfigError if a local session that will be started with this conf lacks the catalog of a schema, or forgets its tables.

    Raises also as `address_of`.
    """
    address = address_of(text)
    if not address.is_schema:
        return
    if (catalog := address.names[0]).lower() != _SESSION_CATALOG:
        if f"spark.sql.catalog.{catalog}" not in conf:
            raise ConfigError(no_catalog(address))
    elif conf.get(_METASTORE, "in-memory") == "in-memory" or _TABLES_FOLDER not in conf:
        raise ConfigError(
            f"the warehouse {address.root} is a schema, and the local session's catalog forgets its tables when the session "
            f"ends; write {_as_folder(text)}, or give it a metastore ({_METASTORE} = hive) and a folder ({_TABLES_FOLDER}) "
            "in the settings"
        )


def no_catalog(address: Address) -> str:
    return (
        f"the warehouse {address.root} is a schema of the catalog {address.names[0]}, which the session does not have; give it "
        f"one (spark.sql.catalog.{address.names[0]}), or write {_as_folder(address.root)}"
    )


def local_folder(text: str) -> Path | None:
    """Return the folder on this machine that a text means; None for any other address.

    If the folder has `..` in it, it is resolved: the system looks for `link/..` where the link leads, Spark does not.
    """
    if text.startswith("file:"):
        folder = Path("/" + text.removeprefix("file:").lstrip("/"))
    elif "://" in text or text.startswith("dbfs:") or not is_path(text):
        return None
    else:
        folder = Path(text)
    return Path(os.path.realpath(folder)) if ".." in folder.parts else folder


def _names(text: str) -> tuple[str, ...]:
    parts = _NAMES.fullmatch(text)
    names = tuple(filter(None, parts.groups())) if parts else ()
    if not names or any(not name.isprintable() or _NOT_IN_NAMES.search(name) for name in names):
        raise ConfigError(
            f"the warehouse {text} names no schema; give CATALOG.SCHEMA without blanks and ${{ in the names, or write "
            f"{_as_folder(text)}"
        )
    return names


def _as_folder(text: str) -> str:
    return f"./{text.replace('`', '')} for a folder"
