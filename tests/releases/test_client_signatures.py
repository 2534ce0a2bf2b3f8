"""How releases of client libraries behave: the file that was measured, and what is made of it."""

import pytest

from kafka_clientinfo.releases import client_signatures as signatures
from kafka_clientinfo.releases.broker_releases import release_numbers
from kafka_clientinfo.releases.client_signatures import client_signatures, parse_signatures

ONE = """
[[libraries]]
software = "lib"
known = ["0.9", "1.0", "1.1", "1.2", "2.0", "2.1"]

[[libraries.releases]]
release = "1.0"
handshakes = ["0 first 0"]
beginnings = ["0 first 0 METADATA 1"]
[libraries.releases.versions]
METADATA = { sent = [1, 4], chosen = [4] }
FETCH = { sent = [3], chosen = [] }

[[libraries.releases]]
release = "2.0"
handshakes = []
beginnings = []
[libraries.releases.versions]
METADATA = { sent = [7], chosen = [] }
"""


def test_releases_count_with_the_measured_ones_beside_them() -> None:
    bounds = [(one.release, one.versions_from, one.versions_to) for one in parse_signatures(ONE)]
    assert bounds == [("1.0", "0.9", "1.2"), ("2.0", "1.1", "2.1")]


@pytest.mark.parametrize(
    ("api", "version", "offered", "may"),
    [
        ("METADATA", 4, None, True),
        ("METADATA", 4, 9, True),  # its own highest, whatever a broker offers
        ("METADATA", 2, 9, False),  # it would have sent a higher one
        ("METADATA", 2, 2, True),  # the broker offers no higher one
        ("METADATA", 2, None, True),  # what the broker offers is not known
        ("METADATA", 5, 5, False),  # it has no such version
        ("METADATA", 5, None, False),
        ("FETCH", 4, 4, True),  # how high it can go was never seen
        ("FETCH", 3, 4, False),
        ("PRODUCE", 0, 9, True),  # it was not seen to use the API
    ],
)
def test_a_release_sends_the_highest_version_that_both_sides_know(
    api: str, version: int, offered: int | None, may: bool
) -> None:
    assert parse_signatures(ONE)[0].may_send(api, version, offered) is may


def test_every_release_may_send_what_it_was_seen_to_send() -> None:
    for number, one in enumerate(client_signatures()):
        for api, versions in one.sent.items():
            for version in versions:
                assert _has(signatures.by_version()[f"{api} {version}"], number)
        for kinds, masks in (
            (one.handshakes, signatures.by_handshake()),
            (one.beginnings, signatures.by_beginning()),
        ):
            assert all(_has(masks[text], number) for text in kinds)


def test_the_file_is_in_order() -> None:
    by_library: dict[str, list[tuple[int, ...]]] = {}
    for one in client_signatures():
        by_library.setdefault(one.software, []).append(release_numbers(one.release))
        assert release_numbers(one.versions_from) <= release_numbers(one.release) <= release_numbers(one.versions_to)
        assert all((one.handshakes, one.beginnings, one.sent))
    assert len(by_library) >= 8
    assert all(numbers == sorted(numbers) for numbers in by_library.values())


def test_words_hold_as_many_releases_as_a_bigint_has_bits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    many = client_signatures() * 3
    monkeypatch.setattr(signatures, "client_signatures", lambda: many)
    found = signatures.words([0, signatures.WORD_BITS, len(many) - 1])
    assert len(found) == signatures.number_of_words() > 1
    assert all(0 <= word < 2**63 for word in found)
    assert sum(word.bit_count() for word in found) == 3


def _has(words: signatures.Words, number: int) -> bool:
    return bool(words[number // signatures.WORD_BITS] >> number % signatures.WORD_BITS & 1)
