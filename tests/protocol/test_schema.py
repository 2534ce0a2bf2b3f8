"""The schema files that travel with the package, and what the loader says about wrong ones."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol.field_specs import layout
from kafka_clientinfo.protocol.schema import NONE, Versions, parse_schema, parse_versions

NUMBER = {"name": "Number", "type": "int32", "versions": "0+"}
VALID: dict[str, Any] = {
    "apiKey": 42, "type": "request", "name": "DeleteGroupsRequest", "validVersions": "0-3", "flexibleVersions": "2+",
    "headerVersions": {"0-1": "1", "2": "2", "3+": "3"},
    "fields": [{"name": "GroupsNames", "type": "[]string", "versions": "0+"}],
}  # fmt: skip
WITHOUT_HEADERS = {name: value for name, value in VALID.items() if name != "headerVersions"}
DATA = {"type": "data", "name": "D", "validVersions": "0", "flexibleVersions": "none", "fields": [NUMBER]}


def parse(document: dict[str, Any]) -> Any:
    return parse_schema(json.dumps(document), "File.json")


@pytest.mark.kip("KIP-1313", 34, 35, 36, 37)
@pytest.mark.parametrize("headers", [
    VALID["headerVersions"], {"3+": "3", "0-1": "1", "2": "2"}, {"2": "2", "3+": "3", "1": "1", "0": "1"},
])  # fmt: skip
def it_reads_the_ranges_in_any_order(headers: dict[str, str]) -> None:
    schema = parse({**VALID, "headerVersions": headers})
    assert [schema.header_version(version) for version in range(6)] == [1, 1, 2, 3, 3, 3]
    assert schema.valid == Versions(0, 3)


@pytest.mark.kip("KIP-1313", 37)
def it_takes_ranges_that_cover_more_than_the_valid_versions() -> None:
    schema = parse({**VALID, "validVersions": "1-3"})
    assert [schema.header_version(version) for version in range(4)] == [1, 1, 2, 3]
    with pytest.raises(SchemaError, match="version 1 has no header"):
        parse({**VALID, "validVersions": "1-3", "headerVersions": {"2": "2", "3+": "3"}})


@pytest.mark.kip("KIP-1313", 33)
@pytest.mark.parametrize(("kind", "flexible", "headers"), [
    ("request", "2+", [1, 1, 2, 2, 2]),
    ("request", "0+", [2, 2, 2, 2, 2]),
    ("request", "none", [1, 1, 1, 1, 1]),
    ("response", "2+", [0, 0, 1, 1, 1]),
])  # fmt: skip
def it_tells_headers_by_flexible_versions_where_a_schema_names_none(
    kind: str, flexible: str, headers: list[int]
) -> None:
    schema = parse(WITHOUT_HEADERS | {"type": kind, "flexibleVersions": flexible})
    assert [schema.header_version(version) for version in range(5)] == headers


@pytest.mark.kip("KIP-511", 4)
def it_keeps_the_first_header_of_the_answer_to_api_versions() -> None:
    schema = parse(WITHOUT_HEADERS | {"type": "response", "name": "ApiVersionsResponse", "apiKey": 18})
    assert [schema.header_version(version) for version in range(5)] == [0] * 5


PRINTED = """{
  "apiKey": 42,
  "type": "request",
  "listeners": ["broker"],
  "name": "DeleteGroupsRequest",
  // Version 1 is the same as version 0.
  //
  // Version 2 is the first flexible version: "2+".
  "validVersions": "0-3",
  "flexibleVersions": "2+", // so it is
  "headerVersions": { "0-1": "1", "2": "2", "3+": "3" },
  "fields": [
\t{ "name": "GroupsNames", "type": "[]string", "versions": "0+", "entityType": "groupId",
      "about": "Names, see https://example.org/a \\"//\\" b." },
\xa0   { "name": "Metrics", "type": "bytes", "versions": "0+", "zeroCopy": true, "about": "Bytes." }
  ]
}"""


@pytest.mark.kip("KIP-1313", 41)
def it_reads_schemas_as_the_kips_print_them() -> None:
    """With listeners, kinds of entities, zero copies and comments, also after what looks like one inside a text."""
    schema = parse_schema(PRINTED, "Printed.json")
    assert [field["name"] for field in schema.fields or ()] == ["GroupsNames", "Metrics"]
    assert [schema.header_version(version) for version in range(5)] == [1, 1, 2, 3, 3]


@pytest.mark.kip("KIP-1313", 36, 37)
@pytest.mark.parametrize(("headers", "message"), [
    ({"0-1": "1", "1-2": "2", "3+": "3"}, "'1-2' overlaps what is before it; let it start at 2"),
    ({"0-1": "1", "3+": "3"}, "version 2 has no header; close the gap before '3+'"),
    ({"1": "1", "2": "2", "3+": "3"}, "version 0 has no header"),
    ({"2": "2", "0": "1", "3+": "3"}, "version 1 has no header; close the gap before '2'"),
    ({"0-1": "1", "2": "2", "3": "3"}, "must be open; write '3+'"),
    ({"0-1": "1", "2+": "2", "3+": "3"},
        "'2+': the last range, and no other, must be open; only the last range is open"),
    ({"0-1": "1", "2": "2", "3+": "4"}, '\'4\' is no request header; use "0" to "3"'),
    ({"0-1": "1", "2": "2", "3+": 3}, "3 is no request header"),
    ({"0-1": "1", "2": "1", "3+": "3"}, "version 2 has header 1 but flexibleVersions is '2+'"),
    ({"0": "1", "1": "2", "2+": "3"}, "version 1 has header 2 but flexibleVersions is '2+'"),
    ({"zero": "1"}, "'zero' is no version range"),
    ({"1-0": "1"}, "'1-0' ends before it starts; write '0-1'"),
    ({"none": "1", "0+": "1"}, "'none' overlaps"),
    ({"0": "1", "0-1": "1", "2+": "2"}, "'0-1' overlaps what is before it; let it start at 1"),
    ({}, "must map version ranges to headers"),
    (None, "must map version ranges to headers"),
    (["0+"], "must map version ranges to headers"),
])  # fmt: skip
def it_demands_what_kip_1313_says_of_header_versions(headers: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse({**VALID, "headerVersions": headers})
    assert str(caught.value).startswith("File.json: headerVersions: ")
    assert message in str(caught.value)


@pytest.mark.kip("KIP-1313", 38)
def it_knows_two_response_headers() -> None:
    response = {**VALID, "type": "response", "headerVersions": {"0-1": "0", "2+": "1"}}
    assert parse(response).header_version(7) == 1
    with pytest.raises(SchemaError, match="no response header"):
        parse({**response, "headerVersions": {"0-1": "0", "2+": "2"}})
    with pytest.raises(SchemaError, match="version 2 has header 0"):
        parse({**response, "headerVersions": {"0+": "0"}})
    with pytest.raises(SchemaError, match=r"version 0 has header 1 .*; flexible versions need header 1 or higher"):
        parse({**response, "headerVersions": {"0+": "1"}})


@pytest.mark.parametrize(("kind", "versions", "flexible", "headers"), [
    ("request", "0-3", "2+", {"0": "0", "1": "1", "2": "2", "3+": "3"}),
    ("response", "0-3", "2+", {"0-1": "0", "2+": "1"}),
    ("request", "0-3", "2-3", {"0-1": "1", "2+": "2"}),
    ("request", "0", "0", {"0+": "3"}),
])  # fmt: skip
def it_demands_of_valid_versions_alone_that_header_and_body_are_flexible(
    kind: str, versions: str, flexible: str, headers: dict[str, str]
) -> None:
    document = {**VALID, "type": kind, "validVersions": versions, "flexibleVersions": flexible, "fields": []}
    schema = parse({**document, "headerVersions": headers})
    assert [schema.header_version(int(versions[0])) for versions in headers] == [*map(int, headers.values())]
    changed = {**headers, [*headers][-1]: "0"}
    with pytest.raises(SchemaError, match=rf"version {[*headers][-1][0]} has header 0 but flexibleVersions is"):
        parse({**document, "headerVersions": changed})


def it_refuses_ranges_of_versions_that_are_none() -> None:
    for name, value in (("validVersions", 3), ("flexibleVersions", "two")):
        with pytest.raises(SchemaError, match=rf"^File\.json: {name}: {value!r} is no version range"):
            parse({**VALID, name: value})
    with pytest.raises(SchemaError, match="D: Number: versions: '2-1' ends before it starts; write '1-2'"):
        layout(parse(DATA | {"fields": [NUMBER | {"versions": "2-1"}]}), 0)


@pytest.mark.parametrize(("flexible", "expected"), [
    ("none", "4+"), ("0+", "0+"), ("3+", "3+"), ("2-3", "2+"), ("3-4", "3+"), ("4+", "4+"), ("5+", "4+"), ("0-2", "4+"),
])  # fmt: skip
def it_adds_a_version_that_is_flexible(flexible: str, expected: str) -> None:
    schema = replace(parse(WITHOUT_HEADERS | {"type": "response"}), flexible=parse_versions(flexible, ""))
    added = schema.with_version(1)
    assert (str(added.valid), str(added.flexible)) == ("0-4", expected)
    assert [added.header_version(version) for version in (3, 4, 9)] == [schema.header_version(3), 1, 1]
    assert replace(parse(VALID), fields=None).with_version(3).fields is None


def it_refuses_layouts_it_cannot_know() -> None:
    with pytest.raises(SchemaError, match="version 1 is none of 0"):
        layout(parse(DATA), 1)
    with pytest.raises(SchemaError, match="only its header is known"):
        layout(replace(parse(VALID), fields=None), 0)


def it_reads_version_ranges() -> None:
    read = {"0": Versions(0, 0), "0-2": Versions(0, 2), "4+": Versions(4, None), "none": NONE}
    assert {text: parse_versions(text, "") for text in read} == read
    assert [str(versions) for versions in read.values()] == [*read]
    assert [[version in versions for version in (0, 2, 9)] for versions in read.values()] == [
        [True, False, False], [True, True, False], [False, False, True], [False] * 3,
    ]  # fmt: skip
    assert [parse({**VALID, "apiKey": key}).api_key for key in (0, 32767)] == [0, 32767]


def it_loads_every_file_under_its_own_name() -> None:
    folder = resources.schemas() / "messages"
    count = 0
    for file, text in [*resources.texts(folder, ".json"), *resources.texts(folder / "drafts", ".json")]:
        schema = parse_schema(text, file)
        assert file.split(".")[-2] == schema.name
        count += 1
    assert count > 200
