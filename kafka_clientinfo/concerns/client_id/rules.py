"""The rules on client ids; their severities and advice are in schemas/rules/client_id.toml."""

from ...connections.concern import RequestRule
from ...connections.engine import Column, F
from ...connections.facts import is_client
from .facts import differs_for_certain


def _is_bound() -> Column:
    """Return whether KIP-1313 binds a client, because it uses header v3, which the KIP introduces."""
    return F.col("any_header_v3")


def _shows_a_client() -> Column:
    """Return whether a connection may be no broker's: one that only asks for versions shows neither."""
    return is_client() & F.col("asks_for_more_than_versions")


REQUEST_RULES = {
    "client_id_changed": RequestRule(
        "client_id_is_other",
        "client id {client_id!r} after {first_client_id!r}",
        lambda: is_client() & differs_for_certain(),
        _is_bound,
    ),
    "client_id_lost": RequestRule(
        "client_id_is_lost",
        "{api_name} v{api_version} with header v{header_version} has no client id after {first_client_id!r}",
        binds=_is_bound,
    ),
    "broker_like_client_id": RequestRule(
        "client_id_is_like_a_brokers", "client id {client_id!r} from {remote_host:an unknown host}", _shows_a_client
    ),
}
