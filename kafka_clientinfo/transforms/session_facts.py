"""What each session is, before any concern is looked at: its ends, who opened it, and what of its start is known."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..logs.apis import INTER_BROKER_APIS
from ..settings import Settings
from ..tables import SESSION_KEY
from .columns import API_VERSIONS, BROKER_CLIENT_ID, UNKNOWN

_LOCAL_HOST = r"^(.+):\d+-.+:\d+(?:-\d+){0,2}$"
_FIRST = (
    "security_protocol",
    "principal",
    "listener",
    "remote_host",
    "remote_port",
    "client_id",
    "correlation_id",
    "api_key",
    "client_software_name",
    "log_generation",
    "complete_since",
    "session_no",
    "file_id",
    "byte_offset",
)
_LAST = ("client_software_name", "client_software_version", "api_key", "seq")


def transform(session_requests: DataFrame, settings: Settings) -> DataFrame:
    """One row per session.

    Returns:
        The session key, last_request_at, requests, start, role, info_only, the first request's `_FIRST` columns under
        their own names, and the struct `last` of the last own request's `_LAST` columns.
    """
    folded = session_requests.groupBy(*SESSION_KEY).agg(
        F.max("logged_at").alias("last_request_at"),
        F.count("*").alias("requests"),
        F.max(F.when(F.col("seq") == 0, F.struct(*_FIRST))).alias("first"),
        # A forwarded request carries the software of the client that it came from.
        F.max_by(F.struct(*_LAST), F.when(~F.col("is_forwarded"), F.col("seq"))).alias("last"),
        F.bool_or("is_forwarded").alias("has_forwarded"),
        F.bool_or(_is_inter_broker()).alias("has_inter_broker"),
        F.bool_or(F.coalesce(F.col("replica_id") >= 0, F.lit(False))).alias("has_replica"),
        F.bool_and(F.col("log_level") == "INFO").alias("info_only"),
    )
    return folded.select(
        *SESSION_KEY,
        "last_request_at",
        "requests",
        _start().alias("start"),
        _role(settings).alias("role"),
        "info_only",
        *(F.col(f"first.{name}").alias(name) for name in _FIRST),
        "last",
    )


def _has_broker_name(client_id: Column) -> Column:
    return F.coalesce(client_id.rlike(BROKER_CLIENT_ID), F.lit(False))


def _is_inter_broker() -> Column:
    unnamed = F.coalesce(F.col("client_id"), F.lit("")) == ""
    return F.col("api_key").isin(*INTER_BROKER_APIS) & (unnamed | _has_broker_name(F.col("client_id")))


def _role(settings: Settings) -> Column:
    """By what a connection does; a broker's client id counts only together with the broker's own host."""
    own_host = F.regexp_extract("connection_id", _LOCAL_HOST, 1) == F.col("first.remote_host")
    own_sender = own_host & _has_broker_name(F.col("first.client_id"))
    on_controller = F.coalesce(F.col("first.listener").isin(*settings.controller_listeners), F.lit(False))
    is_broker = F.col("has_inter_broker") | F.col("has_replica") | on_controller | F.coalesce(own_sender, F.lit(False))
    return F.when(F.col("has_forwarded"), "forwarding").when(is_broker, "broker").otherwise("client")


def _start() -> Column:
    """The evidence for a first request that is really the connection's first; an INFO log shows too little of it."""
    handshake = (F.col("first.api_key") == API_VERSIONS) & (
        F.coalesce(F.col("first.client_software_name"), F.lit(UNKNOWN)) == UNKNOWN
    )
    string_was_used = F.col("first.session_no") > 1
    covered = F.coalesce(F.col("opened_at") >= F.col("first.complete_since"), F.lit(False))
    counts_from_start = F.col("first.correlation_id").isin(0, 1)
    evidence = string_was_used | handshake | covered | counts_from_start
    certain = F.when(F.col("info_only"), F.col("first.correlation_id") == 0).otherwise(evidence)
    sasl = F.coalesce(F.col("first.security_protocol").startswith("SASL"), F.lit(False))
    return F.when(sasl, "hidden_by_sasl").when(certain, "observed").otherwise("before_log")
