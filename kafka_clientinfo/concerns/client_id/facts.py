"""Columns of a connection on its client ids."""

from ...config.settings import Settings
from ...connections.boundaries import has_header_v3
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.judged import requests_where
from ...connections.request_columns import is_api_versions
from ...connections.table import only_of_clients
from ...connections.texts import sorted_texts
from .predicates import stated

_INSTANCE_ID_BYTES = 16


def aggregates() -> Aggregates:
    """Count a connection's requests by how their client id compares with the first one."""
    return {
        **_counts(),
        "any_header_v3": F.bool_or(has_header_v3()),
        "asks_for_more_than_versions": F.bool_or(~is_api_versions()),
    }


def _counts() -> Aggregates:
    """Return the aggregates that are columns of the table `connections` without change."""
    is_same, is_other = F.col("client_id_is_same"), F.col("client_id_is_other")
    return {
        "client_id_same": requests_where(is_same),
        "client_id_same_header_v3": requests_where(F.col("client_id_is_repeated")),
        "client_id_null": requests_where(F.col("client_id_is_left_out")),
        "client_id_null_older_header": requests_where(F.col("client_id_is_lost")),
        "client_id_other": requests_where(is_other),
        "other_client_ids": sorted_texts(F.when(is_other, F.col("client_id"))),
        "client_id_redundant_bytes": F.sum(
            F.when(is_same, F.octet_length(stated("client_id")) * F.col("requests")).otherwise(0)
        ),
    }


def columns(settings: Settings) -> Columns:
    """Return the columns of the group client_id of the table `connections`."""
    judged = {
        **{name: F.col(name) for name in _counts()},
        "instance_id_bytes": F.col("requests") * _INSTANCE_ID_BYTES,
        "client_id_verdict": _verdict(),
    }
    return {"client_id": F.col("first.client_id"), **only_of_clients(judged)}


def differs_for_certain() -> Column:
    """Return whether a connection certainly changed its client id (KIP-1313).

    If the log lacks the start and the first logged request has no id, an earlier request may have stated the id that
    comes later. Two different ids are a change all the same.
    """
    is_certain = (F.col("start") == "observed") | (_first_stated() != "") | (F.size("other_client_ids") > 1)
    return (F.col("client_id_other") > 0) & is_certain


def _first_stated() -> Column:
    return stated("first.client_id", "first.log_generation")


def _verdict() -> Column:
    is_hidden = (F.col("start") != "observed") & (_first_stated() == "")
    return (
        F.when(differs_for_certain(), "changed")
        .when(is_hidden, "not_observed")
        .when(_first_stated() == "", "none_sent")
        .when(F.col("client_id_null_older_header") > 0, "lost_under_older_header")
        .when(F.col("client_id_null") > 0, "sent_once")
        .otherwise("unchanged")
    )
