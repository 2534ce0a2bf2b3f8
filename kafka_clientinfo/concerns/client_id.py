"""Client ids: those of requests compared with the first of their connection, and the rules on them (KIP-1313).

Severities and advice of the rules are in schemas/rules/client_id.toml.
"""

from ..config.settings import Settings
from ..connections.boundaries import has_header_v3, is_masked
from ..connections.concern import Aggregates, Columns, Concern, RequestRule
from ..connections.engine import Column, F
from ..connections.judged import requests_where
from ..connections.table import has_broker_name, is_client, only_of_clients
from ..connections.texts import sorted_texts, stated

_INSTANCE_ID_BYTES = 16


def predicates() -> Columns:
    """Compare the client id with the first request's: for a later request it is the same, left out or another one.

    By KIP-1313 a client may leave its id out with header v3 only; with an older header it must send the id again.
    """
    first, own = stated("first_client_id"), stated("client_id")
    later = F.col("seq") > 0
    same = later & (own == first)
    left_out = later & (first != "") & (own == "")
    return {
        "client_id_is_same": same,
        "client_id_is_left_out": left_out,
        "client_id_is_other": later & ~same & ~left_out,
        "client_id_is_lost": left_out & F.col("header_version").isNotNull() & ~has_header_v3(),
        "client_id_is_repeated": same & (own != "") & has_header_v3(),
        "client_id_before": F.when(first != "", first),
        "client_id_is_like_a_brokers": (F.col("seq") == 0) & has_broker_name(F.col("client_id")),
    }


def aggregates() -> Aggregates:
    """Count a connection's requests by how their client id compares with the first one."""
    return {
        **_counts(),
        "any_header_v3": F.bool_or(has_header_v3()),
        "first_stated_id": F.min_by("client_id", F.when(stated("client_id") != "", F.col("seq"))),
    }


def _counts() -> Aggregates:
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
    judged = {
        **{name: F.col(name) for name in _counts()},
        "instance_id_bytes": F.col("requests") * _INSTANCE_ID_BYTES,
        "client_id_verdict": _verdict(),
    }
    stated_later = F.when(_is_hidden(), F.col("first_stated_id"))
    client_id = F.coalesce(stated_later, F.col("first.client_id"))
    return {"client_id": client_id, **only_of_clients(judged)}


def differs_for_certain() -> Column:
    """Return whether a connection certainly changed its client id (KIP-1313).

    If the log lacks the start and the first logged request has no id, an earlier request may have stated the id that
    comes later. Two different ids are a change all the same.
    """
    is_certain = (F.col("start") == "observed") | (_first_stated() != "") | (F.size("other_client_ids") > 1)
    return (F.col("client_id_other") > 0) & is_certain


def _is_hidden() -> Column:
    """Return whether the request that states the client id may be missing in the log."""
    return (F.col("start") != "observed") & (_first_stated() == "")


def _first_stated() -> Column:
    return stated("first.client_id", "first.log_generation")


def _verdict() -> Column:
    return (
        F.when(is_masked(), "not_observed")
        .when(differs_for_certain(), "changed")
        .when(_is_hidden(), "not_observed")
        .when(_first_stated() == "", "none_sent")
        .when(F.col("client_id_null_older_header") > 0, "lost_under_older_header")
        .when(F.col("client_id_null") > 0, "sent_once")
        .otherwise("unchanged")
    )


def _is_bound() -> Column:
    """Return whether KIP-1313 binds a client, because it uses header v3, which the KIP introduces."""
    return F.col("any_header_v3")


def _shows_a_client() -> Column:
    """Return whether a connection may be no broker's: one that only asks for versions shows neither, nor does a masked host."""
    return is_client() & F.col("asks_for_more_than_versions") & F.col("remote_host").isNotNull()


REQUEST_RULES = {
    "client_id_changed": RequestRule(
        "client_id_is_other",
        "client id {client_id!r} after {client_id_before!r:none in the first logged request}",
        lambda: is_client() & differs_for_certain(),
        _is_bound,
    ),
    "client_id_lost": RequestRule(
        "client_id_is_lost",
        "{api_name} v{api_version} with header v{header_version} has no client id after {first_client_id!r}",
        binds=_is_bound,
    ),
    "broker_like_client_id": RequestRule(
        "client_id_is_like_a_brokers", "client id {client_id!r} from {remote_host}", _shows_a_client
    ),
}


CONCERN = Concern(
    name="client_id",
    predicates=predicates,
    aggregates=aggregates,
    columns=columns,
    request_rules=REQUEST_RULES,
)
