"""Which library a connection without a software name probably belongs to, and whether a stated name contradicts that.

A library is named only if all releases that behave as the connection's client does are its own (see the concern
client_behaviour), and if the client has asked for something that a few lines by hand would not: scripts and scanners
negotiate, or ask for metadata in the first versions. Brokers before 0.10 offer too little to tell libraries apart.
"""

from collections.abc import Iterator

from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...releases.client_signatures import Library, Words, client_signatures, libraries, number_of_words, words

STATED_PREFIXES = {"confluent-kafka-": "librdkafka"}
"""How names of bindings begin that state their own, and the library that speaks for them."""


def columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library, for connections without a name."""
    name = F.when(is_unknown, _behaves_as())
    evidence = F.concat(
        F.lit("versions of its requests"),
        F.coalesce(F.concat(F.lit("; begins with: "), F.col("begins_with")), F.lit("")),
    )
    return {
        "probable_software_name": name,
        "probable_versions_from": F.when(name.isNotNull(), F.get(_fitting(), F.lit(0))["versions_from"]),
        "probable_versions_to": F.when(name.isNotNull(), F.element_at(_fitting(), -1)["versions_to"]),
        "probable_evidence": F.when(name.isNotNull(), evidence),
    }


def contradicting_name(stated_name: Column, stated_version: Column) -> Column:
    """Return the library as which a client behaves that states another one, which never sends what it sent.

    Null if the stated release is not one of those that were there when libraries were measured: it may send anything.
    """
    release = F.regexp_extract(stated_version, "^v?([0-9.]+)", 1)
    contradicts = F.lit(False)
    for library, own in _masks():
        stated = stated_name == library.software
        for prefix, software in STATED_PREFIXES.items():
            stated = stated | (stated_name.startswith(prefix) & F.lit(software == library.software))
        contradicts = contradicts | (stated & release.isin(*library.known) & ~_has_any("possible", own))
    return F.when(contradicts, _behaves_as())


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


def _fitting() -> Column:
    """Return the releases that fit, the oldest first."""
    releases = F.array(
        *(
            F.struct(
                *(F.lit(word).cast("bigint").alias(f"bit_{place}") for place, word in enumerate(words([number]))),
                F.lit(one.versions_from).alias("versions_from"),
                F.lit(one.versions_to).alias("versions_to"),
            )
            for number, one in enumerate(client_signatures())
        )
    )
    return F.filter(releases, _fits)


def _fits(release: Column) -> Column:
    found = F.lit(False)
    for place in range(number_of_words()):
        found = found | (release[f"bit_{place}"].bitwiseAND(F.col(f"fitting_{place}")) != 0)
    return found
