"""Which releases of libraries behave as the client of a connection does.

Each request, and the way in which a connection begins, rules out releases that behave otherwise
(`releases.client_signatures`). Releases are bits, which are combined for all requests of a connection. Names that
anybody may choose, as client ids, are no evidence.
"""

from collections.abc import Mapping
from functools import reduce

from ...config.settings import Settings
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.texts import constant_map
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


def aggregates() -> Aggregates:
    """Return the releases that may have sent all requests, and whether the client asks for more than a script would."""
    tables = {
        generation: {f"{key} {version}": found for (key, version), found in of_generation.items()}
        for generation, of_generation in by_version().items()
    }
    request = F.concat_ws(" ", F.col("api_key").cast("string"), F.col("api_version").cast("string"))
    senders = _looked_up(tables, F.col("log_generation"), request)
    is_by_hand = F.lit(False)
    for api, version in _BY_HAND.items():
        is_by_hand = is_by_hand | ((F.col("api_name") == api) & (F.col("api_version") <= version))
    return {
        **{f"senders_{number}": F.bit_and(word) for number, word in enumerate(_words(senders, _ALL))},
        "asks_more": F.bool_or(senders.isNotNull() & ~is_by_hand),
    }


def columns(_: Settings) -> Columns:
    """Return the releases that may have behaved so, in words of bits.

    `possible_…` holds the releases that versions alone do not rule out: how connections begin and go on was seen in a few
    programs, and others of the same library may do otherwise.
    """
    generation, handshake = F.col("first.log_generation"), F.col("handshake")
    asked = F.when(F.col("start") == "observed", F.col("asked_versions"))
    how = _looked_up(by_handshake(), generation, handshake)
    first = _looked_up(by_beginning(), generation, F.concat(handshake, F.lit(" "), F.col("first_work")))
    works = F.concat(F.col("first_work"), F.lit(" "), F.col("second_work"))
    next_ = _looked_up(by_second(), generation, F.concat(handshake, F.lit(" "), works))
    versions = _looked_up(by_asked(), generation, asked)
    kinds = (_unless_listed(how, handshake), first, next_)
    fitting, possible = {}, {}
    for number in range(number_of_words()):
        senders = F.col(f"senders_{number}")
        of_begin = [_words(found, _ALL)[number] for found in kinds]
        fitting[f"fitting_{number}"] = reduce(lambda one, other: one.bitwiseAND(other), of_begin, senders)
        of_versions = _words(_unless_listed(versions, asked), _ALL)[number]
        possible[f"possible_{number}"] = senders.bitwiseAND(of_versions)
    is_telling = (F.col("asks_more") | F.col("second_work").isNotNull()) & generation.isin(*GENERATIONS)
    return {**fitting, **possible, "is_telling": is_telling}


def _unless_listed(found: Column, key: Column) -> Column:
    """Return an empty text, which stands for nobody, for a key that is not listed."""
    return F.coalesce(found, F.when(key.isNotNull(), F.lit("")))


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
