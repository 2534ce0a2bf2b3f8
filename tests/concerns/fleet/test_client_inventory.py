"""Who uses the cluster: one row per principal, client id and software."""

import json
from typing import Any

import pytest

from tests.frames import at, derive, request

KGO = {"client_software_name": "kgo", "client_software_version": "1"}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[tuple[str | None, str | None, str], Any]:
    heartbeat = json.dumps({"groupId": "g", "memberId": "m"})
    described = json.dumps({"groups": [{"groupId": "other", "protocolType": "consumer"}]})
    rows = [
        request("one", 0, **KGO, correlation_id=5),
        request("one", 1, "FETCH", 4, **KGO),
        request("one", 2, "FETCH", 11, **KGO),
        request("two", 3, "HEARTBEAT", 1, **KGO, remote_host="10.0.0.8", request=heartbeat),
        request("two", 4, "DESCRIBE", 3, **KGO, remote_host="10.0.0.8", request="{}", response=described),
        request("three", 5, client_id=None, principal=None),
        request("four", 6, client_id=None, principal=None),
        request("broker", 7, "UPDATE_METADATA", client_id="1"),
    ]
    relation = derive(spark, rows)["client_inventory"]
    return {(row["principal"], row["client_id"], row["client_software_name"]): row for row in relation.collect()}


def test_clients_are_told_apart_by_principal_client_id_and_software(found: dict[Any, Any]) -> None:
    assert sorted(found, key=str) == [("User:ANONYMOUS", "app", "kgo"), (None, None, "unknown")]


def test_it_tells_where_a_client_is_and_what_it_uses(found: dict[Any, Any]) -> None:
    row = found["User:ANONYMOUS", "app", "kgo"]
    assert (row["connections"], row["requests"], row["host_count"]) == (2, 5, 2)
    assert row["hosts"] == ["10.0.0.8", "10.0.0.9"]
    assert (row["first_seen"].timestamp(), row["last_seen"].timestamp()) == (at(0).timestamp(), at(4).timestamp())
    fetch = [api.asDict() for api in row["apis"] if api["api_name"] == "FETCH"]
    assert fetch == [{"api_key": 1, "api_name": "FETCH", "min_version": 4, "max_version": 11, "requests": 2}]
    assert (row["group_count"], row["groups"]) == (1, ["g"])  # the group that it only describes is not its own


def test_a_client_without_names_is_one_client(found: dict[Any, Any]) -> None:
    row = found[None, None, "unknown"]
    assert (row["connections"], row["group_count"], row["groups"]) == (2, 0, [])
    assert [api["requests"] for api in row["apis"]] == [2]
