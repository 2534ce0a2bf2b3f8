"""Predicates that compare a request's client id with that of its connection's first request (KIP-1313)."""

from ...connections.boundaries import has_header_v3
from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.facts import has_broker_name


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
        "client_id_is_like_a_brokers": (F.col("seq") == 0) & has_broker_name(F.col("client_id")),
    }


def stated(name: str, generation: str = "log_generation") -> Column:
    """Return a client id, or an empty text if there is none; text logs (before 2.8) may write null as the text null."""
    text = F.coalesce(F.col(name), F.lit(""))
    return F.when((F.col(generation) != "json") & (text == "null"), F.lit("")).otherwise(text)
