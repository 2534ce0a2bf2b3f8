"""What releases of client libraries speak: the file that was measured, and what is made of it."""

import pytest

from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables.broker_releases import release, releases
from kafka_clientinfo.tables.client_libraries import client_libraries, fits, parse_libraries

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


def test_what_was_measured_can_be_read() -> None:
    libraries = client_libraries()
    assert len({library.name for library in libraries}) == len(libraries) >= 8
    for library in libraries:
        for one in library.releases:
            assert all(0 <= low <= high for low, high in one.speaks.values()), (library.name, one.name)


@pytest.mark.parametrize("library", client_libraries(), ids=lambda library: library.name)
def test_a_library_has_a_release_for_the_newest_broker(library) -> None:
    assert library.first_fitting(release(list(releases())[-1])) is not None


@pytest.mark.parametrize(
    ("api", "broker", "expected"),
    [
        (0, "2.8.2", True),
        (0, "4.0.1", False),  # advertised and refused
        (1, "4.0.1", True),
        (1, "0.9.0.1" if "0.9.0.1" in releases() else "0.10.0.1", False),  # has older versions only
        (1, "4.4.0", False),  # was tried and failed
        (18, "4.0.1", True),  # any version is answered
        (29, "4.0.1", True),  # was not seen to be used
    ],
)
def test_a_release_fits_a_broker_that_takes_a_version_of_the_api(api: int, broker: str, expected: bool) -> None:
    [library] = parse_libraries(ONE)
    assert library.releases[0].fits(api, release(broker)) is expected


def test_fits_name_brokers_oldest_first() -> None:
    found = {fit.api_key: fit for fit in fits(parse_libraries(ONE))}
    assert found[1].brokers == sorted(found[1].brokers, key=lambda name: release(name).order)
    assert (found[0].low, found[0].high, found[0].numbers) == (0, 2, [1, 0])


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ('"1.0"', '"one"', "found the release 'one'; use numbers and dots"),
        ('"2.8.2"', '"9.9"', "no release 9.9 of Kafka is in schemas/broker_api_ranges"),
        ("PRODUCE", "PRODUZIEREN", "no API 'PRODUZIEREN' is known"),
        ("speaks", "says", "not the declaration of libraries: KeyError('speaks')"),
        ('package = "pypi:lib"', "package = 'pypi:lib'\nclient_ids = '('", "not the declaration of libraries"),
    ],
)
def test_a_wrong_declaration_is_named(found: str, instead: str, message: str) -> None:
    with pytest.raises(TableSpecError) as caught:
        parse_libraries(ONE.replace(found, instead))
    assert message in str(caught.value)


def test_releases_stand_in_order() -> None:
    older = ONE[ONE.index("[[libraries.releases]]") :].replace('"1.0"', '"0.9"')
    with pytest.raises(TableSpecError, match="the releases of Lib are not in order"):
        parse_libraries(ONE + older)
