"""What releases of client libraries speak: the file that was measured, and what is made of it."""

import pytest

from kafka_clientinfo.protocol import api_key
from kafka_clientinfo.releases.broker_releases import release, release_numbers, releases
from kafka_clientinfo.releases.client_libraries import Library, LibraryRelease, client_libraries, parse_libraries

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
