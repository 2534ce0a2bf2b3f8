"""Rebuild every client connection from Kafka's request log, as Delta tables.

In a notebook, with its own session:

    import kafka_clientinfo
    settings = kafka_clientinfo.load_settings(cluster="orders")
    report = kafka_clientinfo.run(spark, ["/Volumes/logs/kafka"], "/Volumes/lake/clientinfo", settings)

`ingest` and `build` are the two steps of `run`; `maintain` keeps a warehouse small, `verify` checks one. The protocol
engine (`kafka_clientinfo.protocol`) and the log parser (`kafka_clientinfo.logs`) work without Spark; names below that
need Spark import it on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from .settings import Settings, load_settings

if TYPE_CHECKING:
    from .engine.checks import Check
    from .engine.maintenance import MaintenanceReport, maintain
    from .engine.session import local_session
    from .engine.verification import verify
    from .engine.warehouse import Warehouse
    from .ingest_step import RunReport
    from .pipeline import build, ingest, run

__version__ = "0.1.0"
__all__ = [
    "Check",
    "ClientInfoError",
    "ConfigError",
    "DecodeError",
    "EncodeError",
    "InputError",
    "MaintenanceReport",
    "RunReport",
    "SchemaError",
    "Settings",
    "TableSpecError",
    "Warehouse",
    "WarehouseError",
    "build",
    "ingest",
    "load_settings",
    "local_session",
    "maintain",
    "run",
    "verify",
]

_WITH_SPARK = {
    "RunReport": "ingest_step",
    "build": "pipeline",
    "ingest": "pipeline",
    "run": "pipeline",
    "Check": "engine.checks",
    "verify": "engine.verification",
    "MaintenanceReport": "engine.maintenance",
    "maintain": "engine.maintenance",
    "Warehouse": "engine.warehouse",
    "local_session": "engine.session",
}


def __getattr__(name: str) -> Any:
    if name in _WITH_SPARK:
        return getattr(import_module(f".{_WITH_SPARK[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
