"""Which library a connection without a software name probably belongs to, and whether a stated name contradicts that.

A library is named only if all releases that behave as the connection's client does are its own (see the concern
client_releases), and if the client has asked for something that a few lines by hand would not: scripts and scanners
negotiate, or ask for metadata in the first versions. Brokers before 0.10 offer too little to tell libraries apart.

A connection that shows too little by itself has the library of its client's others of that day, if they agree and if its
own requests fit: the view `probable_connections` says that.
"""

from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.texts import constant_map
from ...releases.client_libraries import BINDINGS
from ...releases.client_signatures import BOUNDS, libraries, number_of_words, words_by_library

_OWN = "connection"
"""The value of `probable_basis` of a library that the connection itself shows."""


def columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library of connections without a name, by what each shows itself."""
    words = F.concat_ws(" ", "handshake", "first_work", "second_work")
    beginning = F.when(F.col("handshake").isNotNull(), F.concat(F.lit("; begins with: "), words)).otherwise("")
    evidence = F.concat(F.lit("versions of its requests"), beginning)
    software = F.when(is_unknown, _only_library())
    return {
        "candidate_software": F.when(is_unknown, F.col("fitting_software")),
        "probable_software_name": software["software_name"],
        **{f"probable_{bound}": software[bound] for bound in BOUNDS},
        "probable_basis": F.when(software.isNotNull(), F.lit(_OWN)),
        "probable_evidence": F.when(software.isNotNull(), evidence),
    }


def _only_library() -> Column:
    """Return the library of all releases that fit; null if there are none, or those of several."""
    return F.when(F.col("is_telling") & (F.size("fitting_software") == 1), F.get("fitting_software", F.lit(0)))


def _library_of(stated_name: Column) -> Column:
    """Return the library that states a name: the name, or the library of a binding that states its own."""
    library = stated_name
    for prefix, software in BINDINGS.items():
        library = F.when(stated_name.startswith(prefix), F.lit(software)).otherwise(library)
    return library


def contradicting_name(stated_name: Column, stated_version: Column) -> Column:
    """Return the library as which a client behaves that states another one, which never sends what it sent.

    Null if the stated release is not one of those that were there when libraries were measured: it may send anything.
    """
    library = _library_of(stated_name)
    known = constant_map({f"{one.software} {release}": "known" for one in libraries() for release in one.known})
    stated = F.concat_ws(" ", library, F.regexp_extract(stated_version, "^v?([0-9.]+)", 1))
    masks = constant_map({software: " ".join(map(str, words)) for software, words in words_by_library().items()})
    own = F.split(F.try_element_at(masks, library), " ").cast("array<bigint>")
    may_be = F.lit(False)
    for number in range(number_of_words()):
        may_be = may_be | (F.col(f"possible_{number}").bitwiseAND(F.get(own, F.lit(number))) != 0)
    return F.when(F.try_element_at(known, stated).isNotNull() & ~may_be, _only_library()["software_name"])
