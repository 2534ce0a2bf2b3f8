"""Which releases of libraries behave as the client of a connection does.

Each request, and the way in which a connection begins, rules out releases that behave otherwise
(`releases.client_signatures`). Releases are bits, which are combined for all requests of a connection. Names that
anybody may choose, as client ids, are no evidence.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import TypeVar

from ...config.settings import Settings
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.texts import constant_list, constant_map
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
_VERSIONS = 32
"""The number of versions of an API that may be listed."""
_ALL = (1 << WORD_BITS) - 1
_NOT_LISTED = -1
_Table = TypeVar("_Table")


def aggregates() -> Aggregates:
    """Return the releases that may have sent all requests, and whether the client asks for more than a script would."""
    key, version = F.col("api_key"), F.col("api_version")
    place = F.when((key >= 0) & version.between(0, _VERSIONS - 1), key * _VERSIONS + version)
    senders = [F.coalesce(F.get(word, place), F.lit(_NOT_LISTED)) for word in _senders()]
    is_by_hand = F.lit(False)
    for api, highest in _BY_HAND.items():
        is_by_hand = is_by_hand | ((F.col("api_name") == api) & (version <= highest))
    return {
        **{f"senders_{number}": F.bit_and(word) for number, word in enumerate(senders)},
        "asks_more": F.bool_or((senders[0] != _NOT_LISTED) & ~is_by_hand),
    }


def _senders() -> list[Column]:
    """Return, for each word, the releases that may have sent a version in a log of the request's generation, as a list."""
    tables = by_version()
    size = _VERSIONS * (1 + max(key for masks in tables.values() for key, _ in masks))

    def listed(number: int) -> Column:
        words = {
            generation: {key * _VERSIONS + version: found[number] for (key, version), found in masks.items()}
            for generation, masks in tables.items()
        }
        lists = {name: [own.get(place, _NOT_LISTED) for place in range(size)] for name, own in words.items()}
        return _of_generation(F.col("log_generation"), lists, lambda own: constant_list(own).cast("array<bigint>"))

    return [listed(number) for number in range(number_of_words())]


def columns(_: Settings) -> Columns:
    """Return the releases that may have behaved so, in words of bits.

    `possible_…` holds the releases that versions alone do not rule out: how connections begin and go on was seen in a few
    programs, and others of the same library may do otherwise.
    """
    generation, handshake = F.col("first.log_generation"), F.col("handshake")
    asked = F.when(F.col("start") == "observed", F.col("asked_versions"))
    works = F.concat(F.col("first_work"), F.lit(" "), F.col("second_work"))
    nobody = F.lit(_text(0 for _ in range(number_of_words())))
    how = F.coalesce(_found(by_handshake(), generation, handshake), F.when(handshake.isNotNull(), nobody))
    first = _found(by_beginning(), generation, F.concat(handshake, F.lit(" "), F.col("first_work")))
    second = _found(by_second(), generation, F.concat(handshake, F.lit(" "), works))
    versions = F.coalesce(_found(by_asked(), generation, asked), F.when(asked.isNotNull(), nobody))
    return {
        **_words("fitting", how, first, second),
        **_words("possible", versions),
        "is_telling": (F.col("asks_more") | F.col("second_work").isNotNull()) & generation.isin(*GENERATIONS),
    }


def _words(name: str, *found: Column) -> Columns:
    """Return the senders that all texts of words hold, word by word; null stands for all releases."""
    everybody = F.lit(_text(_ALL for _ in range(number_of_words())))
    lists = [F.split(F.coalesce(text, everybody), " ").cast("array<bigint>") for text in found]
    return {
        f"{name}_{number}": reduce(
            lambda one, other: one.bitwiseAND(F.get(other, F.lit(number))), lists, F.col(f"senders_{number}")
        )
        for number in range(number_of_words())
    }


def _found(tables: Mapping[str, Masks], generation: Column, key: Column) -> Column:
    """Return what a key stands for in a log of a generation, as a text of words; null where nothing is listed."""
    texts = {name: {one: _text(words) for one, words in masks.items()} for name, masks in tables.items()}
    return F.try_element_at(_of_generation(generation, texts, constant_map), key)


def _of_generation(generation: Column, tables: Mapping[str, _Table], constant: Callable[[_Table], Column]) -> Column:
    """Return the constant of a generation; null for another generation."""
    return F.coalesce(*(F.when(generation == name, constant(table)) for name, table in tables.items()))


def _text(words: Iterable[int]) -> str:
    return " ".join(map(str, words))
