"""Which library a client without a name probably uses: which releases of libraries behave as its connection does.

Each request, and the way in which a connection begins, rules out releases that behave otherwise
(`releases.client_signatures`). Releases are bits, which are combined for all requests of a connection. Names that
anybody may choose, as client ids, are no evidence.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TypeVar

from ..config.settings import Settings
from ..connections.concern import Aggregates, Columns, Concern
from ..connections.engine import Column, F
from ..connections.texts import constant_list, constant_map
from ..releases.client_libraries import may_be_held_down
from ..releases.client_signatures import (
    BOUNDS,
    GENERATIONS,
    WORD_BITS,
    Masks,
    by_asked,
    by_beginning,
    by_handshake,
    by_second,
    by_version,
    client_signatures,
    libraries,
    number_of_words,
    words_by_library,
)

_AFTER_2_0 = {
    "PRODUCE": 7,
    "FETCH": 9,
    "JOIN_GROUP": 4,
    "SYNC_GROUP": 3,
    "HEARTBEAT": 3,
    "LEAVE_GROUP": 3,
    "OFFSET_COMMIT": 5,
}
"""The first versions of some APIs that Kafka 2.0 does not have; a client that is held down to 2.0 does not send them."""
_BY_HAND = {"METADATA": 1, "LIST_OFFSETS": 0}
"""Up to which version scripts ask for something, too; who asks for nothing more may be one."""
_MOST_VERSIONS = 32
_ALL = (1 << WORD_BITS) - 1
_NOT_LISTED = -1
_Table = TypeVar("_Table")


def aggregates() -> Aggregates:
    """Return the releases that may have sent all requests, and whether the client asks for more than a script would."""
    key, version = F.col("api_key"), F.col("api_version")
    place = F.when((key >= 0) & version.between(0, _MOST_VERSIONS - 1), key * _MOST_VERSIONS + version)
    senders = [F.coalesce(F.get(word, place), F.lit(_NOT_LISTED)) for word in _senders()]
    is_by_hand, is_after_2_0 = F.lit(False), F.lit(False)
    for api, first in _AFTER_2_0.items():
        is_after_2_0 = is_after_2_0 | ((F.col("api_name") == api) & (version >= first))
    for api, highest in _BY_HAND.items():
        is_by_hand = is_by_hand | ((F.col("api_name") == api) & (version <= highest))
    return {
        **{f"senders_{number}": F.bit_and(word) for number, word in enumerate(senders)},
        "asks_after_2_0": F.bool_or(is_after_2_0),
        "asks_more": F.bool_or((senders[0] != _NOT_LISTED) & ~is_by_hand),
    }


def _senders() -> list[Column]:
    """Return, for each word, the releases that may have sent a version in a log of the request's generation, as a list."""
    tables = by_version()
    size = _MOST_VERSIONS * (1 + max(key for masks in tables.values() for key, _ in masks))

    def listed(number: int) -> Column:
        words = {
            generation: {key * _MOST_VERSIONS + version: found[number] for (key, version), found in masks.items()}
            for generation, masks in tables.items()
        }
        lists = {name: [own.get(place, _NOT_LISTED) for place in range(size)] for name, own in words.items()}
        return _of_generation(F.col("log_generation"), lists, lambda own: constant_list(own).cast("array<bigint>"))

    return [listed(number) for number in range(number_of_words())]


def columns(_: Settings) -> Columns:
    """Return the libraries with releases that behave so, and the releases that may have, in words of bits.

    `possible_senders` holds the releases that versions alone do not rule out: how connections begin and go on was seen in a few
    programs, and others of the same release may do otherwise. So that tells libraries apart, and not their releases:
    fitting_software has an entry for each library that fits in all, with the first and the last possible release.
    """
    generation, handshake = F.col("first.log_generation"), F.col("handshake")
    asked = F.when(F.col("start") == "observed", F.col("asked_versions"))
    works = F.concat(F.col("first_work"), F.lit(" "), F.col("second_work"))
    nobody = F.lit(_text(0 for _ in range(number_of_words())))
    how = F.coalesce(_found(by_handshake(), generation, handshake), F.when(handshake.isNotNull(), nobody))
    first = _found(by_beginning(), generation, F.concat(handshake, F.lit(" "), F.col("first_work")))
    second = _found(by_second(), generation, F.concat(handshake, F.lit(" "), works))
    versions = F.coalesce(_found(by_asked(), generation, asked), F.when(asked.isNotNull(), nobody))
    possible = _words(versions)
    return {
        "fitting_software": _libraries(_words(how, first, second), possible),
        "possible_senders": possible,
        "is_telling": (F.col("asks_more") | F.col("second_work").isNotNull()) & generation.isin(*GENERATIONS),
    }


def _words(*found: Column) -> Column:
    """Return the senders that all texts of words hold, as a list of words; null stands for all releases."""
    everybody = F.lit(_text(_ALL for _ in range(number_of_words())))
    lists = [F.split(F.coalesce(text, everybody), " ").cast("array<bigint>") for text in found]

    def in_all(given: Column) -> Column:
        def word(number: int) -> Column:
            own = (F.get(given[f"text_{place}"], F.lit(number)) for place in range(len(lists)))
            return reduce(lambda one, other: one.bitwiseAND(other), own, F.col(f"senders_{number}"))

        return F.array(*map(word, range(number_of_words())))

    # A list of one struct, so that each text, which is long, is written and split once for all words.
    texts = F.struct(*(words.alias(f"text_{place}") for place, words in enumerate(lists)))
    return F.get(F.transform(F.array(texts), in_all), F.lit(0))


def _libraries(words: Column, possible: Column) -> Column:
    """Return the libraries of releases, given as bits, each with the first and the last possible one, given in the same way.

    The signatures of a library follow each other, so the first and the last bit that it has stand for these releases. A
    setting may hold a newer release down to what an older one sends, so that such a library ends with its newest.
    """
    names = constant_list(library.software for library in libraries())
    newest = {library.software: library.known[-1] for library in libraries() if may_be_held_down(library.software)}
    bounds = {
        "versions_from": constant_list(one.versions_from for one in client_signatures()),
        "versions_to": constant_list(newest.get(one.software, one.versions_to) for one in client_signatures()),
    }
    masks = [constant_list(word).cast("array<bigint>") for word in zip(*words_by_library().values(), strict=True)]
    numbers = constant_list(range(len(libraries()))).cast("array<int>")

    def of_library(given: Column, library: Column) -> list[Column]:
        return [F.get(given, F.lit(word)).bitwiseAND(F.get(mask, library)) for word, mask in enumerate(masks)]

    def entry(given: Column, library: Column) -> Column:
        own = list(enumerate(of_library(given, library)))
        places = (_place(own, lambda word: word.bitwiseAND(-word)), _place(reversed(own), lambda word: word))
        versions = (F.get(bounds[name], place).alias(name) for name, place in zip(BOUNDS, places, strict=True))
        return F.struct(F.get(names, library).alias("software_name"), *versions)

    def entries(given: Column) -> Column:
        fit = F.filter(numbers, lambda library: reduce(or_, (word != 0 for word in of_library(given["fit"], library))))
        return F.transform(fit, lambda library: entry(given["possible"], library))

    # A list of one struct, so that the words are computed once for all libraries.
    both = F.struct(words.alias("fit"), possible.alias("possible"))
    return F.get(F.transform(F.array(both), entries), F.lit(0))


def _place(words: Iterable[tuple[int, Column]], with_highest_bit: Callable[[Column], Column]) -> Column:
    """Return the place of a bit of the first of some words that has any: of the highest bit in a function of the word."""
    places = (
        F.when(word != 0, F.length(F.bin(with_highest_bit(word))) + F.lit(number * WORD_BITS - 1))
        for number, word in words
    )
    return F.coalesce(*places)


def _found(tables: Mapping[str, Masks], generation: Column, key: Column) -> Column:
    """Return what a key stands for in a log of a generation, as a text of words; null where nothing is listed."""
    texts = {name: {one: _text(words) for one, words in masks.items()} for name, masks in tables.items()}
    return F.try_element_at(_of_generation(generation, texts, constant_map), key)


def _of_generation(generation: Column, tables: Mapping[str, _Table], constant: Callable[[_Table], Column]) -> Column:
    return F.coalesce(*(F.when(generation == name, constant(table)) for name, table in tables.items()))


def _text(words: Iterable[int]) -> str:
    return " ".join(map(str, words))


CONCERN = Concern(
    name="probable_library",
    aggregates=aggregates,
    after=("api_versions", "client_behaviour"),
    columns=columns,
)
