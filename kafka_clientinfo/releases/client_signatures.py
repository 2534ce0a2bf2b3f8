"""How releases of client libraries behave on a connection, from schemas/client_signatures.toml.

A client that states no name (KIP-511) shows it by what it sends: how it begins, and which version of each API it chooses
among those that a broker offers. For each release the data has what it was seen to do with real brokers of several
generations. Releases are bits, so that what one request rules out can be combined with what the others do.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from .. import resources
from ..protocol import api_key
from .broker_releases import release_numbers, releases

WORD_BITS = 62
BOUNDS = ("versions_from", "versions_to")
"""The attributes of a signature that name the first and the last release for which it stands."""
Words = tuple[int, ...]
Masks = Mapping[str, Words]
"""The releases that are left, by what a connection shows."""
GENERATIONS = {"json": (2, 8), "request_header_struct": (1,), "api_key_struct": (0, 10)}
"""The generations of request logs with which clients were measured, each with the first broker release that writes it.

Older brokers offer so little that libraries behave alike.
"""
PLAYED = frozenset(
    {
        "METADATA", "FIND_COORDINATOR", "PRODUCE", "INIT_PRODUCER_ID", "FETCH", "LIST_OFFSETS",
        "JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP", "OFFSET_FETCH", "OFFSET_COMMIT",
    }
)  # fmt: skip
"""APIs of producers and consumers, which every release was measured with wholly; administration has too many requests."""
_NUMBERED = re.compile(r"([0-9]+)(.*)")
_REFUSED_FIRST = re.compile(r"^[0-9]+,([0-9]+) first (0|1|more)")


@dataclass(frozen=True, slots=True)
class Signature:
    """How a release of a library behaves, or those between two measured releases.

    Attributes:
        versions_from, versions_to: the first and the last release for which this stands.
        begins: for each generation, how connections begin (`handshake` of the concern client_behaviour), with
            what was asked first, as `METADATA 6`.
        sent: the versions that it was seen to send, by API.
        chosen: those that it sent although a broker offered higher ones.
    """

    software: str
    release: str | None
    versions_from: str
    versions_to: str
    begins: Mapping[str, Mapping[str, frozenset[str]]]
    sent: Mapping[str, frozenset[int]]
    chosen: Mapping[str, frozenset[int]]

    def may_send(self, api: str, version: int, offered: int | None) -> bool:
        """Return whether it may send a version to a broker that offers the version `offered` as its highest; None: no idea.

        Clients send the highest version that both sides know. True for an API that the release was not seen to use.
        """
        sent, chosen = self.sent.get(api), self.chosen.get(api, frozenset())
        if sent is None or version in chosen:
            return True
        highest = max(sent)
        if offered is None:
            return not chosen or version <= highest
        return version == min(highest, offered) if chosen else version >= offered

    def may_begin(self, generation: str, handshake: str, api: str, version: int) -> bool | None:
        """Return whether a connection with this handshake may ask for this first; None if it was not seen to ask for the API."""
        seen = {int(text.split()[1]) for text in self.begins[generation].get(handshake, ()) if text.split()[0] == api}
        if not seen:
            return None
        is_fixed = seen <= self.chosen.get(api, frozenset())
        return version in seen or not is_fixed


@dataclass(frozen=True, slots=True)
class Library:
    """A library.

    Attributes:
        known: all its releases when it was measured, the oldest first.
        signatures: how they behave, the oldest first.
        seconds: for each generation, how connections begin and go on (its handshake, first and second work, see
            the concern client_behaviour).
    """

    software: str
    known: tuple[str, ...]
    signatures: tuple[Signature, ...]
    seconds: Mapping[str, frozenset[str]]


@lru_cache(maxsize=1)
def libraries() -> tuple[Library, ...]:
    return parse_signatures((resources.schemas() / "client_signatures.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def client_signatures() -> tuple[Signature, ...]:
    """Return the signatures of all libraries; a signature's bit is its place."""
    return tuple(one for library in libraries() for one in library.signatures)


def parse_signatures(text: str) -> tuple[Library, ...]:
    return tuple(_library(data) for data in tomllib.loads(text)["libraries"])


def _library(data: Mapping[str, Any]) -> Library:
    measured = [_measured(data["software"], item) for item in data["releases"]]
    known: list[str] = data["known"]
    signatures = tuple(_with_neighbours(measured, known, data.get("patches_alike", False)))
    seconds = {generation: frozenset(data.get("seconds", {}).get(generation, ())) for generation in GENERATIONS}
    return Library(data["software"], tuple(known), signatures, seconds)


def _measured(software: str, item: Mapping[str, Any]) -> Signature:
    versions: Mapping[str, Mapping[str, Sequence[int]]] = item["versions"]
    begins = {generation: _begins(item.get("begins", {}).get(generation, {})) for generation in GENERATIONS}
    sent = {api: frozenset(own["sent"]) for api, own in versions.items()}
    chosen = {api: frozenset(own["chosen"]) for api, own in versions.items() if own["chosen"]}
    return Signature(software, item["release"], item["release"], item["release"], begins, sent, chosen)


def _begins(measured: Mapping[str, Sequence[str]]) -> Mapping[str, frozenset[str]]:
    """Return how connections may begin, by how they were seen to.

    A client that numbers its requests over all connections may have sent one elsewhere before any of them begins.
    """
    begins = {how: frozenset(firsts) for how, firsts in measured.items()}
    for how, firsts in measured.items():
        if " more" in how and "after SASL" not in how:
            early = how.replace(" more", " 1")
            begins[early] = begins.get(early, frozenset()) | frozenset(firsts)
    return begins


def _with_neighbours(measured: Sequence[Signature], known: Sequence[str], patches_alike: bool) -> Iterator[Signature]:
    """Yield the measured signatures, with the releases that count as alike, and one for what lies between each two.

    What is older than the oldest measured release counts as that, and what is newer than the newest one as that. Both lists
    begin with the oldest; `patches_alike` is whether releases that differ in the last number only count as alike.
    """
    numbers = {str(one.release): number for number, one in enumerate(measured)}
    minors = {release_numbers(name)[:-1]: number for name, number in numbers.items()} if patches_alike else {}
    between: list[str] = []
    for number, names in groupby(known, lambda name: numbers.get(name, minors.get(release_numbers(name)[:-1]))):
        own = list(names)
        if number is None:
            between = own
            continue
        one = measured[number]
        if between and number:
            yield _between(measured[number - 1], one, between[0], between[-1])
        first = between[0] if between and not number else own[0]
        last = known[-1] if number == len(measured) - 1 else own[-1]
        yield Signature(one.software, one.release, first, last, one.begins, one.sent, one.chosen)
        between = []


def _between(older: Signature, newer: Signature, versions_from: str, versions_to: str) -> Signature:
    """Return the signature of releases between two: they may do what either does, and use the versions between theirs.

    An API that only one of both was seen to use says nothing.
    """
    sent, chosen = {}, {}
    for api in older.sent.keys() & newer.sent.keys():
        highest = [max(one.sent[api]) for one in (older, newer)]
        steps = frozenset(range(min(highest), max(highest) + 1))
        sent[api] = older.sent[api] | newer.sent[api] | steps
        if api in older.chosen or api in newer.chosen:
            chosen[api] = older.chosen.get(api, frozenset()) | newer.chosen.get(api, frozenset()) | steps
    begins = {generation: _begins_between(older, newer, generation, sent) for generation in GENERATIONS}
    return Signature(older.software, None, versions_from, versions_to, begins, sent, chosen)


def _begins_between(
    older: Signature, newer: Signature, generation: str, sent: Mapping[str, Collection[int]]
) -> Mapping[str, frozenset[str]]:
    """Return how connections of releases between two begin: as either's do, with the versions between theirs."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in (older, newer):
        for how, firsts in one.begins[generation].items():
            found[how] |= firsts
    highest = [_highest_numbers(one.begins[generation]) for one in (older, newer)]
    for rest in highest[0].keys() & highest[1].keys():
        low, high = sorted(numbers[rest] for numbers in highest)
        for number in range(low + 1, high):
            found[f"{number}{rest}"] |= found[f"{low}{rest}"] | found[f"{high}{rest}"]
    begins = {}
    for how, texts in found.items():
        apis = {text.split()[0] for text in texts}
        begins[how] = frozenset(texts | {f"{api} {version}" for api in apis for version in sent.get(api, ())})
    return begins


def _highest_numbers(handshakes: Iterable[str]) -> dict[str, int]:
    numbered = [(match[2], int(match[1])) for how in handshakes if (match := _NUMBERED.match(how))]
    return dict(sorted(numbered))  # in order, so the highest one remains


def words(numbers: Iterable[int]) -> Words:
    """Return the words with the bits of signatures, by their numbers."""
    found = [0] * number_of_words()
    for number in numbers:
        found[number // WORD_BITS] |= 1 << number % WORD_BITS
    return tuple(found)


def number_of_words() -> int:
    return -(-len(client_signatures()) // WORD_BITS)


@lru_cache(maxsize=1)
def by_version() -> Mapping[str, Mapping[tuple[int, int], Words]]:
    """Return for each generation the releases that may send a version to some broker of it, by key of API and version.

    What is not listed rules nobody out: no release was seen to use the API.
    """
    signatures = client_signatures()
    sent = ((api, version) for one in signatures for api, versions in one.sent.items() for version in versions)
    highest = dict(sorted(sent))  # in order, so the highest version remains
    found: dict[str, dict[tuple[int, int], Words]] = {generation: {} for generation in GENERATIONS}
    for generation, of_generation in found.items():
        for api in highest:
            key = api_key(api)
            if key is None:
                continue
            offers = _offers(generation, key)
            for version in range(highest[api] + 1):
                may = (
                    n for n, one in enumerate(signatures) if any(one.may_send(api, version, high) for high in offers)
                )
                of_generation[key, version] = words(may)
    return found


def _offers(generation: str, key: int) -> set[int | None]:
    first = GENERATIONS[generation]
    until = min((other for other in GENERATIONS.values() if other > first), default=(99,))
    brokers = [one for name, one in releases().items() if first <= release_numbers(name) < until]
    return {one.apis[key].high if key in one.apis else None for one in brokers}


@lru_cache(maxsize=3)
def _shows(generation: str) -> Sequence[Mapping[str, set[str]]]:
    """Return for each signature the beginnings of connections that a log may show, each with the true ones that look so.

    A log that lacks the first record of every connection may seem whole: it shows `2,0 first 0` as `0 first 1`.
    """
    shows: list[dict[str, set[str]]] = [defaultdict(set) for _ in client_signatures()]
    for own, one in zip(shows, client_signatures(), strict=True):
        for how in one.begins[generation]:
            own[how].add(how)
            own[_REFUSED_FIRST.sub(lambda match: f"{match[1]} first {'1' if match[2] == '0' else 'more'}", how)].add(
                how
            )
    return shows


@lru_cache(maxsize=1)
def by_handshake() -> Mapping[str, Masks]:
    """Return for each generation the releases that begin a connection in a way; in one that is not listed nobody does."""
    return {generation: _masks(_shows(generation)) for generation in GENERATIONS}


@lru_cache(maxsize=1)
def by_asked() -> Mapping[str, Masks]:
    """Return for each generation the releases that ask for the versions of ApiVersions with which a handshake begins."""
    return {name: _masks({how.split()[0] for how in shows} for shows in _shows(name)) for name in GENERATIONS}


@lru_cache(maxsize=1)
def by_beginning() -> Mapping[str, Masks]:
    """Return for each generation the releases that begin in a way and then ask for something first.

    What is not listed rules nobody out. Administration begins with many requests: only what producers and consumers ask
    rules out those that were never seen to ask for it.
    """
    found = {}
    for generation in GENERATIONS:
        begins = [one.begins[generation].items() for one in client_signatures()]
        listed = {f"{how} {text}" for own in begins for how, firsts in own for text in firsts}
        found[generation] = {beginning: words(_beginners(generation, beginning)) for beginning in sorted(listed)}
    return found


def _beginners(generation: str, beginning: str) -> Iterator[int]:
    how, api, version = beginning.rsplit(" ", 2)
    for number, (one, shows) in enumerate(zip(client_signatures(), _shows(generation), strict=True)):
        may = {one.may_begin(generation, own, api, int(version)) for own in shows.get(how, ())}
        if True in may or (may <= {None} and api not in PLAYED):
            yield number


@lru_cache(maxsize=1)
def by_second() -> Mapping[str, Masks]:
    """Return for each generation the releases that go on in a way, or of which a log may lack the first record.

    What is not listed rules nobody out.
    """
    found = {}
    for generation in GENERATIONS:
        seen = [library.seconds[generation] for library in libraries() for _ in library.signatures]
        texts = sorted(frozenset[str]().union(*seen))
        found[generation] = _masks(
            [text for text in texts if text in own or shows.get(how := text.rsplit(" ", 4)[0], set()) - {how}]
            for own, shows in zip(seen, _shows(generation), strict=True)
        )
    return found


def words_by_library() -> Masks:
    masks = _masks([one.software] for one in client_signatures())
    return {library.software: masks[library.software] for library in libraries()}


def _masks(texts: Iterable[Collection[str]]) -> Masks:
    """Return the words of each text: its bits are those of the signatures to which it belongs, given in their order."""
    owners: dict[str, list[int]] = defaultdict(list)
    for number, own in enumerate(texts):
        for text in own:
            owners[text].append(number)
    return {text: words(numbers) for text, numbers in sorted(owners.items())}
