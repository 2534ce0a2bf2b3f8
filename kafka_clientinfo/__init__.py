"""Rebuild every client connection from Kafka's request log, as Delta tables.

In a notebook, with its own session; logs are in a volume, tables in a schema:

    import kafka_clientinfo
    settings = kafka_clientinfo.load_settings(cluster="orders")
    report = kafka_clientinfo.run(spark, ["/Volumes/main/kafka_clientinfo/logs/orders"], "main.kafka_clientinfo", settings)

`ingest` and `build` are the two steps of `run`; `maintain` keeps a warehouse small, `forget` removes a cluster from it,
`verify` checks it. The protocol engine (`kafka_clientinfo.protocol`) and the log parser (`kafka_clientinfo.logs`) work
without Spark; names below that need Spark import it on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .config.settings import Settings, load_settings
from .errors import (
    ClientInfoError,
    ConfigError,
    DecodeError,
    EncodeError,
    InputError,
    SchemaError,
    TableSpecError,
    WarehouseError,
)

if TYPE_CHECKING:
    from .questions.checks import Check
    from .questions.verification import verify
    from .runs.composed import derive, sessions
    from .runs.ingest import RunReport
    from .runs.run import build, ingest, run
    from .spark.session import local_session
    from .warehouse.maintenance import ForgetReport, MaintenanceReport, forget, maintain
    from .warehouse.warehouse import Warehouse

__version__ = "0.2.0"
__all__ = [
    "Check",
    "ClientInfoError",
    "ConfigError",
    "DecodeError",
    "EncodeError",
    "ForgetReport",
    "InputError",
    "MaintenanceReport",
    "RunReport",
    "SchemaError",
    "Settings",
    "TableSpecError",
    "Warehouse",
    "WarehouseError",
    "build",
    "derive",
    "forget",
    "ingest",
    "load_settings",
    "local_session",
    "maintain",
    "run",
    "sessions",
    "verify",
]

_WITH_SPARK = {
    "questions.checks": ("Check",),
    "questions.verification": ("verify",),
    "runs.composed": ("derive", "sessions"),
    "runs.ingest": ("RunReport",),
    "runs.run": ("build", "ingest", "run"),
    "spark.session": ("local_session",),
    "warehouse.maintenance": ("ForgetReport", "MaintenanceReport", "forget", "maintain"),
    "warehouse.warehouse": ("Warehouse",),
}


def __getattr__(name: str) -> Any:
    for module, names in _WITH_SPARK.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
