"""What releases of client libraries speak and how they behave: the files that were measured, and what is made of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.releases import client_signatures as signatures
from kafka_clientinfo.releases.broker_releases import release, release_numbers, releases
from kafka_clientinfo.releases.client_libraries import Library, LibraryRelease, client_libraries, parse_libraries
from kafka_clientinfo.releases.client_signatures import client_signatures, libraries, parse_signatures

ONE = """
[[libraries]]
name = "Lib"
package = "pypi:lib"

[[libraries.releases]]
release = "1.0"
worked_with = ["2.8.2"]
failed_with = ["4.4.0"]
speaks = {PRODUCE = [0, 2], FETCH = [4, 11], API_VERSIONS = [0, 0]}
"""


@pytest.mark.parametrize("library", client_libraries(), ids=lambda library: library.name)
def test_a_library_has_a_release_for_the_newest_broker(library) -> None:
    assert library.fitting(release(list(releases())[-1]))


@pytest.mark.parametrize(
    ("api", "speaks", "broker", "expected"),
    [
        ("FETCH", (2, 3), "4.0.1", False),
        ("FETCH", (2, 4), "4.0.1", True),
        ("FETCH", (2, 4), "0.10.0.1", True),
        ("FETCH", (3, 4), "0.10.0.1", False),
        ("PRODUCE", (0, 3), "4.0.1", True),  # which refuses 0 to 2, though it advertises them
        ("PRODUCE", (0, 2), "4.0.1", False),
        ("FETCH", (4, 11), "4.4.0", False),  # was tried and failed
        ("API_VERSIONS", (9, 9), "4.0.1", True),  # any version is answered
        ("GET_TELEMETRY_SUBSCRIPTIONS", (0, 0), "2.8.2", True),  # absent, and used only if it is there
        ("DESCRIBE_CLUSTER", (0, 0), "0.10.0.1", True),  # absent, and clients do without
        ("ALTER_CONFIGS", (0, 0), "0.10.0.1", False),  # absent
    ],
)
def test_a_release_fits_a_broker_if_both_have_one_version(
    api: str, speaks: tuple[int, int], broker: str, expected: bool
) -> None:
    key = api_key(api)
    assert key is not None
    one = LibraryRelease("1.0", {key: speaks}, frozenset({"4.4.0"}))
    assert one.fits(key, release(broker)) is expected
    assert one.fits(29, release("4.0.1"))  # an API that it was not seen to use


def test_a_release_fits_by_all_its_apis() -> None:
    ranges = {"1.0": {0: (0, 2), 1: (4, 11)}, "1.1": {0: (0, 3), 1: (2, 3)}, "1.2": {0: (0, 3), 1: (2, 4)}, "1.3": {}}
    some = tuple(LibraryRelease(name, speaks, frozenset({"4.4.0"})) for name, speaks in ranges.items())
    library = Library("Lib", None, None, None, None, None, some)
    assert library.fitting(release("4.0.1")) == list(some[2:])
    assert library.fitting(release("2.8.2")) == list(some)
    assert Library("Lib", None, None, None, None, None, some[:2]).fitting(release("4.0.1")) == []


def test_a_library_may_state_its_software_and_have_client_ids() -> None:
    (bare,) = parse_libraries(ONE)
    assert (bare.name, bare.software, bare.client_ids) == ("Lib", None, None)
    stated = ONE.replace('name = "Lib"', 'name = "Lib"\nsoftware = "lib"\nclient_ids = "lib-(.*)"')
    (library,) = parse_libraries(stated)
    assert (library.software, library.client_ids) == ("lib", "lib-(.*)")
    (only,) = library.releases
    assert (release_numbers(only.name), only.speaks[0], only.failed_with) == ((1, 0), (0, 2), {"4.4.0"})


ONE_SIGNATURE = """
[[libraries]]
software = "lib"
known = ["0.9.0", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "2.0.0", "2.0.1", "2.1.0"]
seconds = {json = ["0 first 0 METADATA 4 FETCH 3"]}
[[libraries.releases]]
release = "1.0.0"
begins = {json = {"0 first 0" = ["METADATA 4", "PRODUCE 3"], "0 first 1" = []}}
versions = {METADATA = {sent = [1, 4], chosen = [4]}, PRODUCE = {sent = [3, 5], chosen = []}, FETCH = {sent = [3], chosen = []}}
[[libraries.releases]]
release = "2.0.0"
begins = {json = {"3 first 0" = ["METADATA 7"]}}
versions = {METADATA = {sent = [7], chosen = []}}
"""


def _bounds(text: str) -> list[tuple[str | None, str, str]]:
    (library,) = parse_signatures(text)
    return [(one.release, one.versions_from, one.versions_to) for one in library.signatures]


BOUNDS = [("1.0.0", "0.9.0", "1.0.0"), (None, "1.0.1", "1.2.0"), ("2.0.0", "2.0.0", "2.1.0")]
"""Which release was measured, and for which ones it stands; between two that were, either may be meant."""


def test_every_known_release_has_a_signature() -> None:
    """Patch releases count as the measured one where the library keeps to that; nothing lies between two that follow."""
    assert _bounds(ONE_SIGNATURE) == BOUNDS
    alike = ONE_SIGNATURE.replace('software = "lib"', 'software = "lib"\npatches_alike = true')
    assert _bounds(alike) == [("1.0.0", "0.9.0", "1.0.1"), (None, "1.1.0", "1.2.0"), BOUNDS[2]]
    assert _bounds(ONE_SIGNATURE.replace('"1.0.1", "1.1.0", "1.2.0", ', "")) == [BOUNDS[0], BOUNDS[2]]


SENDS = [
    ("METADATA", 4, None, True), ("METADATA", 4, 9, True),  # its own highest, whatever a broker offers
    ("METADATA", 2, 9, False),  # it would have sent a higher one
    ("METADATA", 2, 2, True), ("METADATA", 2, None, True),  # the broker offers no higher one, or that is not known
    ("METADATA", 5, 5, False), ("METADATA", 5, None, False),  # it has no such version
    ("FETCH", 4, 4, True), ("FETCH", 3, 4, False),  # how high it can go was never seen
    ("HEARTBEAT", 0, 9, True),  # it was not seen to use the API
]  # fmt: skip


@pytest.mark.parametrize(("api", "version", "offered", "may"), SENDS)
def test_a_release_sends_the_highest_version_that_both_sides_know(
    api: str, version: int, offered: int | None, may: bool
) -> None:
    (library,) = parse_signatures(ONE_SIGNATURE)
    assert library.signatures[0].may_send(api, version, offered) is may


BEGINS = [
    ("0 first 0", "METADATA", 4, True), ("0 first 0", "METADATA", 1, False),  # its own choice, whatever the broker offers
    ("0 first 0", "PRODUCE", 5, True),  # the broker's offer decides
    ("0 first 0", "FETCH", 3, None), ("0 first 1", "METADATA", 4, None), ("1 first 0", "METADATA", 4, None),
]  # fmt: skip


@pytest.mark.parametrize(("handshake", "api", "version", "may"), BEGINS)
def test_a_connection_begins_as_it_was_seen_to(handshake: str, api: str, version: int, may: bool | None) -> None:
    (library,) = parse_signatures(ONE_SIGNATURE)
    assert library.signatures[0].may_begin("json", handshake, api, version) is may


def test_releases_between_two_may_do_what_either_does_and_what_lies_between() -> None:
    (library,) = parse_signatures(ONE_SIGNATURE)
    between = library.signatures[1]
    assert between.sent == {"METADATA": {1, 4, 5, 6, 7}}
    assert between.chosen == {"METADATA": {4, 5, 6, 7}}
    assert between.may_send("FETCH", 0, 9)  # only one of both was seen to use it
    assert set(between.begins["json"]) == {"0 first 0", "0 first 1", "1 first 0", "2 first 0", "3 first 0"}
    assert between.begins["json"]["2 first 0"] >= {"METADATA 5", "METADATA 7", "PRODUCE 3"}


def test_every_release_may_do_what_it_was_seen_to_do() -> None:
    numbered = ((library, one) for library in libraries() for one in library.signatures)
    for number, (library, one) in enumerate(numbered):
        for api, version in ((api, version) for api, versions in one.sent.items() for version in versions):
            key = api_key(api)
            assert key is not None
            assert any(_has(masks[key, version], number) for masks in signatures.by_version().values())
        for generation, begins in one.begins.items():
            for how, firsts in begins.items():
                assert _has(signatures.by_handshake()[generation][how], number)
                assert all(_has(signatures.by_beginning()[generation][f"{how} {text}"], number) for text in firsts)
            assert all(_has(signatures.by_second()[generation][text], number) for text in library.seconds[generation])


def test_a_release_is_ruled_out_by_what_producers_and_consumers_do_and_not_by_administration() -> None:
    def allowed(masks: Mapping[str, Any], text: str) -> set[str]:
        return {one.software for number, one in enumerate(client_signatures()) if _has(masks[text], number)}

    json = signatures.by_beginning()["json"]
    begins = {text: allowed(json, text) for text in json if text.startswith("0 first 1 ")}
    assert begins["0 first 1 METADATA 6"] < {one.software for one in libraries()}
    unseen = [text for text in begins if text.split()[-2] not in signatures.PLAYED]
    assert unseen
    assert all(begins[text] == {one.software for one in libraries()} for text in unseen)


def test_the_file_is_in_order() -> None:
    by_library: dict[str, list[str]] = {}
    for one in client_signatures():
        by_library.setdefault(one.software, []).extend((one.versions_from, one.versions_to))
        assert one.sent
        assert any(one.begins.values())
    assert len(by_library) >= 8
    for bounds in by_library.values():
        assert [release_numbers(one) for one in bounds] == sorted(release_numbers(one) for one in bounds)


def test_words_hold_as_many_releases_as_a_bigint_has_bits_for() -> None:
    last = len(client_signatures()) - 1
    found = signatures.words([0, signatures.WORD_BITS, last])
    assert len(found) == signatures.number_of_words() > 1
    assert all(0 <= word < 2**63 for word in found)
    assert sum(word.bit_count() for word in found) == 3
    assert _has(found, last)


def _has(words: signatures.Words, number: int) -> bool:
    return bool(words[number // signatures.WORD_BITS] >> number % signatures.WORD_BITS & 1)
