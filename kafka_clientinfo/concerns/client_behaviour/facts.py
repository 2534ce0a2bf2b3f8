"""How a connection begins and what its client sends, and which releases of libraries behave so.

Each request, and the way in which a connection begins, rules out releases that behave otherwise
(`releases.client_signatures`). Releases are bits, which are combined for all requests of a connection. Names that
anybody may choose, as client ids, are no evidence.
"""

from collections.abc import Mapping
from functools import reduce

from ...config.settings import Settings
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.request_columns import is_api_versions
from ...connections.texts import constant_map
from ...logs.apis import SASL_APIS
from ...protocol import ApiKey
from ...releases.client_signatures import (
    GENERATIONS,
    WORD_BITS,
    Masks,
    by_asked,
    by_beginning,
    by_handshake,
    by_second,
    by_version,
    number_of_words,
)

_BY_HAND = {"METADATA": 1, "LIST_OFFSETS": 0}
"""Up to which version scripts ask for something, too; who asks for nothing more may be one."""
_ALL = (1 << WORD_BITS) - 1
_EARLY = 16
"""How many of a connection's first requests count as its beginning."""


def aggregates() -> Aggregates:
    """Return the releases that may have sent all requests, and the requests that a connection begins with."""
    tables = {
        generation: {f"{key} {version}": found for (key, version), found in of_generation.items()}
        for generation, of_generation in by_version().items()
    }
    request = F.concat_ws(" ", F.col("api_key").cast("string"), F.col("api_version").cast("string"))
    senders = _looked_up(tables, F.col("log_generation"), request)
    is_by_hand = F.lit(False)
    for api, version in _BY_HAND.items():
        is_by_hand = is_by_hand | ((F.col("api_name") == api) & (F.col("api_version") <= version))
    is_work = ~is_api_versions() & ~F.col("api_name").isin(*SASL_APIS)
    early = F.struct("seq", F.col("api_name").alias("api"), F.col("api_version").alias("version"))
    return {
        **{f"senders_{number}": F.bit_and(word) for number, word in enumerate(_words(senders, _ALL))},
        "early_work": F.sort_array(F.collect_list(F.when(is_work & (F.col("seq") < _EARLY), early))),
        "lowest_id": F.min("lowest_correlation_id"),
        "asks_more": F.bool_or(senders.isNotNull() & ~is_by_hand),
    }


def handshake() -> Column:
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


def beginning() -> Column:
    """Return how a connection begins and what its client asks first; null if it asks nothing."""
    return F.when(_work(0).isNotNull(), F.concat_ws(" ", handshake(), _text(_work(0))))


def second() -> Column:
    """Return how a connection begins, what its client asks first and what else next; null if it asks nothing else."""
    return F.when(_work(1).isNotNull(), F.concat_ws(" ", beginning(), _text(_work(1))))


def _work(place: int) -> Column:
    """Return one of the first requests that differ in API or version."""
    first = F.get("early_work", F.lit(0))
    if place == 0:
        return first
    others = F.filter("early_work", lambda one: (one["api"] != first["api"]) | (one["version"] != first["version"]))
    return F.get(others, F.lit(0))


def _text(work: Column) -> Column:
    return F.concat_ws(" ", work["api"], work["version"].cast("string"))


def columns(_: Settings) -> Columns:
    """Return the releases that may have behaved so, in words of bits, and what the connection shows, in words.

    `possible_…` holds the releases that versions alone do not rule out: how connections begin and go on was seen in a few
    programs, and others of the same library may do otherwise.
    """
    generation = F.col("first.log_generation")
    begins = F.col("start").isin("observed", "hidden_by_sasl")
    how = F.coalesce(_looked_up(by_handshake(), generation, F.when(begins, handshake())), F.when(begins, F.lit("")))
    first = _looked_up(by_beginning(), generation, F.when(begins, beginning()))
    next_ = _looked_up(by_second(), generation, F.when(begins, second()))
    is_observed = F.col("start") == "observed"
    asked = F.coalesce(
        _looked_up(by_asked(), generation, F.when(is_observed, _asked())), F.when(is_observed, F.lit(""))
    )
    fitting, possible = {}, {}
    for number in range(number_of_words()):
        senders = F.col(f"senders_{number}")
        of_begin = [_words(found, _ALL)[number] for found in (how, first, next_)]
        fitting[f"fitting_{number}"] = reduce(lambda one, other: one.bitwiseAND(other), of_begin, senders)
        possible[f"possible_{number}"] = senders.bitwiseAND(_words(asked, _ALL)[number])
    return {
        **fitting,
        **possible,
        "is_telling": (F.col("asks_more") | _work(1).isNotNull()) & generation.isin(*GENERATIONS),
        "begins_with": F.when(begins, F.coalesce(second(), beginning(), handshake())),
    }


def _looked_up(tables: Mapping[str, Masks], generation: Column, key: Column) -> Column:
    """Return what a key stands for in a log of a generation, as a text of words; null where nothing is listed."""
    maps = [
        F.when(generation == name, constant_map({text: " ".join(map(str, own)) for text, own in masks.items()}))
        for name, masks in tables.items()
    ]
    return F.try_element_at(F.coalesce(*maps), key)


def _words(found: Column, otherwise: int) -> list[Column]:
    """Return the words in a text; those of an empty text have no bit, and those of null are `otherwise`."""
    words = [F.get(F.split(found, " "), F.lit(number)) for number in range(number_of_words())]
    return [F.when(found.isNull(), otherwise).when(found == "", 0).otherwise(word.cast("bigint")) for word in words]
