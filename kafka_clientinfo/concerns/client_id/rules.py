"""What clients do wrong with client ids; the words beside the findings are in schemas/rules/client_id.toml."""

from ...connections.concern import RequestRule
from ...connections.facts import is_client
from .facts import differs_for_certain

REQUEST_RULES = {
    "client_id_changed": RequestRule(
        "client_id_is_other",
        "client id {client_id!r} after {first_client_id!r}",
        lambda: is_client() & differs_for_certain(),
    ),
    "client_id_lost": RequestRule(
        "client_id_is_lost",
        "{api_name} v{api_version} with header v{header_version} has no client id after {first_client_id!r}",
    ),
    "broker_like_client_id": RequestRule(
        "client_id_is_like_a_brokers", "client id {client_id!r} from {remote_host:an unknown host}"
    ),
}
