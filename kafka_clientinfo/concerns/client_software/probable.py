"""Which library a connection without a software name probably belongs to, and whether a stated name contradicts that.

A library is named only if all releases that behave as the connection's client does are its own (see the concern
client_releases), and if the client has asked for something that a few lines by hand would not: scripts and scanners
negotiate, or ask for metadata in the first versions. Brokers before 0.10 offer too little to tell libraries apart.
"""

from collections.abc import Callable, Iterable

from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.texts import constant_list, constant_map
from ...releases.client_libraries import BINDINGS
from ...releases.client_signatures import WORD_BITS, client_signatures, libraries, number_of_words, words_by_library


def columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library, for connections without a name."""
    name = F.when(is_unknown, _behaves_as())
    evidence = F.concat(
        F.lit("versions of its requests"),
        F.when(F.col("handshake").isNotNull(), F.concat(F.lit("; begins with: "), _begins_with())).otherwise(""),
    )
    oldest = F.get(constant_list(one.versions_from for one in client_signatures()), _oldest())
    newest = F.get(constant_list(one.versions_to for one in client_signatures()), _newest())
    return {
        "probable_software_name": name,
        "probable_versions_from": F.when(name.isNotNull(), oldest),
        "probable_versions_to": F.when(name.isNotNull(), newest),
        "probable_evidence": F.when(name.isNotNull(), evidence),
    }


def _begins_with() -> Column:
    """Return how a connection begins, in words."""
    return F.concat_ws(" ", "handshake", "first_work", "second_work")


def contradicting_name(stated_name: Column, stated_version: Column) -> Column:
    """Return the library as which a client behaves that states another one, which never sends what it sent.

    Null if the stated release is not one of those that were there when libraries were measured: it may send anything.
    """
    library = stated_name
    for prefix, software in BINDINGS.items():
        library = F.when(stated_name.startswith(prefix), F.lit(software)).otherwise(library)
    known = constant_map({f"{one.software} {release}": "known" for one in libraries() for release in one.known})
    stated = F.concat_ws(" ", library, F.regexp_extract(stated_version, "^v?([0-9.]+)", 1))
    masks = constant_map({software: " ".join(map(str, words)) for software, words in words_by_library().items()})
    own = F.split(F.try_element_at(masks, library), " ").cast("array<bigint>")
    may_be = F.lit(False)
    for number in range(number_of_words()):
        may_be = may_be | (F.col(f"possible_{number}").bitwiseAND(F.get(own, F.lit(number))) != 0)
    return F.when(F.try_element_at(known, stated).isNotNull() & ~may_be, _behaves_as())


def _behaves_as() -> Column:
    """Return the library of all releases that fit; null if there are none, or those of several.

    The signatures of a library follow each other, so all are of one library if the first and the last are.
    """
    names = constant_list(library.software for library in libraries() for _ in library.signatures)
    first = F.get(names, _oldest())
    return F.when(F.col("is_telling") & (first == F.get(names, _newest())), first)


def _oldest() -> Column:
    """Return the place of the first signature that fits; null if none does."""
    return _place(range(number_of_words()), lambda word: word.bitwiseAND(-word))


def _newest() -> Column:
    """Return the place of the last signature that fits; null if none does."""
    return _place(reversed(range(number_of_words())), lambda word: word)


def _place(numbers: Iterable[int], with_highest_bit: Callable[[Column], Column]) -> Column:
    """Return the place of a bit of the first of some words that has any: of the highest bit in a function of the word."""
    words = ((number * WORD_BITS, F.col(f"fitting_{number}")) for number in numbers)
    return F.coalesce(
        *(F.when(word != 0, F.length(F.bin(with_highest_bit(word))) + F.lit(start - 1)) for start, word in words)
    )
