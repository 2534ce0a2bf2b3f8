"""Which library a connection without a software name probably belongs to, and whether a stated name contradicts that.

A library is named only if all releases that behave as the connection's client does are its own (see the concern
client_releases), and if the client has asked for something that a few lines by hand would not: scripts and scanners
negotiate, or ask for metadata in the first versions. Brokers before 0.10 offer too little to tell libraries apart.
"""

from collections.abc import Iterable, Iterator

from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.texts import constant_map
from ...releases.client_libraries import BINDINGS
from ...releases.client_signatures import (
    WORD_BITS,
    Library,
    Words,
    client_signatures,
    libraries,
    number_of_words,
    words,
)


def columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library, for connections without a name."""
    name = F.when(is_unknown, _behaves_as())
    evidence = F.concat(
        F.lit("versions of its requests"),
        F.when(F.col("handshake").isNotNull(), F.concat(F.lit("; begins with: "), _begins_with())).otherwise(""),
    )
    return {
        "probable_software_name": name,
        "probable_versions_from": F.when(name.isNotNull(), _oldest()),
        "probable_versions_to": F.when(name.isNotNull(), _newest()),
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
    may_be = F.lit(False)
    for one, own in _masks():
        may_be = may_be | ((library == one.software) & _has_any("possible", own))
    return F.when(F.try_element_at(known, stated).isNotNull() & ~may_be, _behaves_as())


def _masks() -> Iterator[tuple[Library, Words]]:
    """Yield each library with the bits of its signatures."""
    number = 0
    for library in libraries():
        yield library, words(range(number, number + len(library.signatures)))
        number += len(library.signatures)


def _has_any(kind: str, masks: Words) -> Column:
    found = F.lit(False)
    for place, mask in enumerate(masks):
        found = found | (F.col(f"{kind}_{place}").bitwiseAND(F.lit(mask)) != 0)
    return found


def _behaves_as() -> Column:
    """Return the library of all releases that fit; null if there are none, or those of several."""
    name = F.lit(None).cast("string")
    for library, own in _masks():
        others = tuple(~mask for mask in own)
        is_only = _has_any("fitting", own) & ~_has_any("fitting", others)
        name = F.when(is_only, F.lit(library.software)).otherwise(name)
    return F.when(F.col("is_telling"), name)


def _oldest() -> Column:
    """Return the first release of the oldest signature that fits."""
    names = constant_map(_names(one.versions_from for one in client_signatures()))
    return F.coalesce(*(_named(names, place, _bits(place), F.lit(0)) for place in range(number_of_words())))


def _newest() -> Column:
    """Return the last release of the newest signature that fits."""
    names = constant_map(_names(one.versions_to for one in client_signatures()))
    places = reversed(range(number_of_words()))
    return F.coalesce(*(_named(names, place, _bits(place), F.size(_bits(place)) - 1) for place in places))


def _names(versions: Iterable[str]) -> dict[str, str]:
    """Return releases by the place of their word and their bit."""
    return {f"{number // WORD_BITS} {1 << number % WORD_BITS}": name for number, name in enumerate(versions)}


def _named(names: Column, place: int, bits: Column, index: Column) -> Column:
    return F.try_element_at(names, F.concat(F.lit(f"{place} "), F.get(bits, index).cast("string")))


def _bits(place: int) -> Column:
    """Return the bits that a word has, the lowest first."""
    every = F.split(F.lit(" ".join(str(1 << number) for number in range(WORD_BITS))), " ").cast("array<bigint>")
    return F.filter(every, lambda bit: bit.bitwiseAND(F.col(f"fitting_{place}")) != 0)
