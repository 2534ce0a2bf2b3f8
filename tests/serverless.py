"""The rules of serverless compute, kept by a Spark Connect client: it refuses what Databricks refuses there.

Databricks documents them for serverless notebooks and jobs: Spark Connect's interface only, six entries of the conf, no
caching of relations, no global temporary views, no paths of DBFS, ANSI SQL unless that is turned off. Entries of the conf
other than the six are refused here to be read, too.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

CONF = {
    "spark.databricks.execution.timeout", "spark.sql.ansi.enabled", "spark.sql.files.maxPartitionBytes",
    "spark.sql.legacy.timeParserPolicy", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions",
}  # fmt: skip
_KEPT = ("cache", "persist", "unpersist", "checkpoint", "localCheckpoint")
_GLOBAL_VIEWS = ("createGlobalTempView", "createOrReplaceGlobalTempView")
_KEPT_TABLES = ("cacheTable", "uncacheTable", "isCached", "clearCache")


@contextmanager
def rules() -> Iterator[None]:
    """Hold every session of Spark Connect in this process to the rules, in here."""
    from pyspark.sql.connect.catalog import Catalog
    from pyspark.sql.connect.client import SparkConnectClient
    from pyspark.sql.connect.conf import RuntimeConf
    from pyspark.sql.connect.dataframe import DataFrame

    with pytest.MonkeyPatch.context() as patch:
        for name in ("get", "set", "unset", "isModifiable"):
            patch.setattr(RuntimeConf, name, _of_known_entries(getattr(RuntimeConf, name)))
        patch.setattr(RuntimeConf, "getAll", property(lambda conf: _refuse("SET -v")))
        for kind, names in ((DataFrame, (*_KEPT, *_GLOBAL_VIEWS)), (Catalog, (*_KEPT_TABLES, "dropGlobalTempView"))):
            for name in names:
                patch.setattr(kind, name, _refused(name))
        for name in ("_execute", "_execute_and_fetch_as_iterator"):
            patch.setattr(SparkConnectClient, name, _of_allowed_plans(getattr(SparkConnectClient, name)))
        yield


def _of_known_entries(method: Callable[..., Any]) -> Callable[..., Any]:
    def checked(conf: Any, key: str, *rest: Any) -> Any:
        # pyspark's client itself reads entries to make and to collect relations
        if key not in CONF and not str(sys._getframe(1).f_globals.get("__name__")).startswith("pyspark."):
            raise _error("CONFIG_NOT_AVAILABLE", f"Configuration {key} is not available. SQLSTATE: 42K0I")
        return method(conf, key, *rest)

    return checked


def _of_allowed_plans(method: Callable[..., Any]) -> Callable[..., Any]:
    def checked(client: Any, request: Any, *rest: Any, **named: Any) -> Any:
        text = str(request.plan)
        for sign in ("dbfs:", "global_temp", "CACHE TABLE"):
            if sign in text:
                _refuse(sign)
        return method(client, request, *rest, **named)

    return checked


def _refused(name: str) -> Callable[..., NoReturn]:
    return lambda *_, **__: _refuse(name)


def _refuse(what: str) -> NoReturn:
    raise _error("NOT_SUPPORTED_WITH_SERVERLESS", f"{what} is not supported on serverless compute. SQLSTATE: 0A000")


def _error(condition: str, text: str) -> Exception:
    from pyspark.errors.exceptions.connect import AnalysisException

    return AnalysisException(f"[{condition}] {text}")
