"""How a connection begins: what shows the library of a client whatever it calls itself, in words."""

from ..config.settings import Settings
from ..connections.concern import Aggregates, Columns, Concern, is_api_versions
from ..connections.engine import Column, F
from ..connections.table import is_covered, is_watched
from ..logs.apis import SASL_APIS
from ..protocol import ApiKey

_FIRST_REQUESTS = 16


def aggregates() -> Aggregates:
    """Return the requests that a connection begins with, and its lowest correlation id."""
    is_work = ~is_api_versions() & ~F.col("api_name").isin(*SASL_APIS)
    number = F.col("correlation_id").cast("bigint").alias("id")
    early = F.struct("seq", "api_name", "api_version", number, is_work.alias("is_work"))
    return {
        "early_requests": F.sort_array(F.collect_list(F.when(F.col("seq") < _FIRST_REQUESTS, early))),
        "lowest_id": F.min("lowest_correlation_id"),
    }


def columns(_: Settings) -> Columns:
    """Return how a connection begins; null if that is not in the log.

    handshake, see `_handshake`; asked_versions, the different versions of its first ApiVersions requests, or `none`;
    first_work and second_work, the first requests besides them that differ in API or version, as `METADATA 6`. A request
    does not count if correlation ids before it are missing: a sampled or filtered log lacks what came first.
    """
    # With SASL, a log that begins later, or holds some requests only, shows any request of a connection as its first.
    is_first = is_api_versions("first.api_key") | (is_watched() & is_covered())
    begins = (F.col("start") == "observed") | ((F.col("start") == "hidden_by_sasl") & is_first)
    work = F.filter("early_requests", lambda one: one["is_work"])
    first = F.get(work, F.lit(0))
    second = F.get(F.filter(work, lambda one: _text(one) != _text(first)), F.lit(0))
    ids = F.transform(F.filter("early_requests", lambda one: one["seq"] <= first["seq"]), lambda one: one["id"])
    highest = F.array_max(ids)
    is_whole = F.coalesce(highest - F.array_min(ids) == first["seq"], F.lit(True))
    goes_on = second["id"] - highest == second["seq"] - first["seq"]
    columns_ = {
        "handshake": _handshake(),
        "asked_versions": _asked(),
        "first_work": _text(first),
        "second_work": F.when(goes_on, _text(second)),
    }
    return {name: F.when(begins & is_whole, column) for name, column in columns_.items()}


def _handshake() -> Column:
    """Return how a connection begins, over its aggregates.

    The different versions of its first ApiVersions requests, or `none`; whether one comes first; the first correlation id;
    whether a lower one follows (`overtaken`), as of clients that number a request before they have a connection for it;
    and whether the log lacks what was sent before the client was authenticated.
    """
    id_, lowest = F.col("first.correlation_id"), F.col("lowest_id")
    is_first = F.when(F.col("first.api_key") == int(ApiKey.API_VERSIONS), "first").otherwise("later")
    numbered = F.when(id_.isin(0, 1), id_.cast("string")).otherwise("more")
    overtaken = F.when((lowest < id_) & (lowest >= 0), "overtaken")
    after_sasl = F.when(F.col("start") == "hidden_by_sasl", "after SASL")
    return F.concat_ws(" ", _asked(), is_first, numbered, overtaken, after_sasl)


def _asked() -> Column:
    """Return the version of the first ApiVersions request, and the first other one among the next, as `3,0`."""
    early = F.slice("attempts", 1, 4)
    first = F.get(early, F.lit(0))["version"]
    other = F.get(F.filter(early, lambda attempt: attempt["version"] != first), F.lit(0))["version"]
    return F.when(first.isNull(), "none").otherwise(F.concat_ws(",", first.cast("string"), other.cast("string")))


def _text(work: Column) -> Column:
    return F.when(work.isNotNull(), F.concat_ws(" ", work["api_name"], work["api_version"].cast("string")))


CONCERN = Concern(name="client_behaviour", aggregates=aggregates, after=("api_versions",), columns=columns)
