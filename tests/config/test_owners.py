"""Owners: what a file may say, and which rule fits."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.config.owners import Owner, Owners, load_owners, parse_owners
from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.errors import ConfigError

CONF = Path(__file__).resolve().parents[2] / "conf"
RULES = r"""
[[owners]]
owner = "A|<script>"
contact = "a@b\u202e"
principals = ['User:a.*']
hosts = ["10.1.0.0/16", "fd00::/8", '192\.168\..*']
[[owners]]
owner = "B"
contact = "b"
client_ids = ['x', '']
groups = ['g-\d+']
[[owners]]
owner = "A|<script>"
software = ['kgo']
[[owners]]
owner = "B"
clusters = ['test-.*']
[[owners]]
owner = "everything else with a name"
principals = ['.+']
""".replace('"B"', f'"{"B" * 200}"')
A, B, REST = Owner("A|<script>", "a@b\u202e"), Owner("B" * 200, "b"), Owner("everything else with a name")


@pytest.mark.parametrize(
    ("client", "owner"),
    [
        ({"principals": ["User:alice"], "hosts": ["10.1.255.3"]}, A), ({"principals": ["User:alice"], "hosts": ["10.2.0.1"]}, REST),
        ({"principals": ["User:alice"], "hosts": ["fd00:0:0:0:0:0:0:1"]}, A),
        ({"principals": ["User:alice"], "hosts": ["192.168.1.1"]}, A),
        ({"principals": ["User:alice"], "hosts": ["1192.168.1.1"]}, REST), ({"principals": ["User:alice"], "hosts": [None]}, REST),
        ({"principals": ["a User:alice"], "hosts": ["10.1.0.1"]}, REST), ({"client_ids": ["x"], "groups": ["other", "g-1"]}, B),
        ({"client_ids": [None], "groups": ["g-1"]}, B), ({"client_ids": ["x"], "groups": []}, None),
        ({"client_ids": ["x"], "groups": ["g-1\n"]}, None), ({"software": ["kgo"]}, A), ({"principals": ["p" * 255]}, REST),
        ({"clusters": ["test-2"], "principals": ["User:bob"]}, B), ({"clusters": ["a test-2"], "principals": ["User:bob"]}, REST),
        ({"principals": ["p" * 256]}, None), ({"principals": ["User:alice"], "hosts": ["fd00::1%" + "z" * 247]}, A),
        ({"principals": ["User:alice"], "hosts": ["fd00::1%" + "z" * 248]}, REST), ({}, None),
    ],
)  # fmt: skip
def test_the_first_rule_whose_every_kind_fits_names_the_owner(client: dict[str, Any], owner: Owner | None) -> None:
    assert parse_owners(RULES, "x").of(**client) == owner


def test_the_example_is_valid_and_no_file_owns_nothing() -> None:
    assert load_owners(load_settings().owners) == Owners()
    assert (Owners().of(principals=["User:alice"]), Owners().ask("groups")) == (None, False)
    for name in ("/nowhere/owners.toml", "/", "a\0b"):
        with pytest.raises(ConfigError, match="cannot read the owners "):
            load_owners(name)
    found = load_owners(str(CONF / "owners.toml"))
    payments = Owner("Payments", "payments@example.org")
    assert found.of(principals=["User:payments-eu"]) == found.of(principals=["User:x"], hosts=["10.1.2.3"]) == payments
    assert (found.ask("groups"), parse_owners(RULES, "x").ask("groups"), found.ask("topics")) == (True, True, False)


def test_a_topic_names_an_owner() -> None:
    owners = parse_owners("[[owners]]\nowner = 'Orders'\ntopics = ['orders\\..*']", "x")
    assert owners.ask("topics")
    found = [owners.of(principals=["User:x"], topics=topics) for topics in (["audit", "orders.eu"], ["orders"], [])]
    assert found == [Owner("Orders"), None, None]


@given(st.text(), st.text(), st.text())
def test_any_text_of_a_client_is_read(principal: str, client_id: str, host: str) -> None:
    assert parse_owners(RULES, "x").of(
        principals=[principal], client_ids=[client_id], hosts=[host], groups=[client_id], software=[host]
    ) in (A, B, REST, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = ", "not valid TOML"),
        ("", "there are no rules; begin each with [[owners]]"),
        ("owners = [1]", "there are no rules"),
        ("owners = [{owner = 'a', hosts = ['a']}, 1]", "there are no rules"),
        ("[owner]\nx = 1", "unknown property 'owner'; begin each rule with [[owners]]"),
        ("e = 1\nd = 1\nc = 1\nb = 1\na = 1", "unknown property 'a'; begin each rule"),
        ("[[owners]]\nowner = 'a'\nprincipal = ['a']", "rule 1: unknown property 'principal'; known are owner, contact"),
        ("[[owners]]\nprincipals = ['a']", "rule 1: owner is None; give a name"),
        (f"[[owners]]\nowner = '{'a' * 201}'\nprincipals = ['a']", "give a name of at most 200 characters"),
        ("[[owners]]\nowner = 'a'\ncontact = 1\nhosts = ['a']", "contact is 1; give a text"),
        ("[[owners]]\nowner = 'a'", "it has no patterns, and would fit everybody; give one of principals"),
        ("[[owners]]\nowner = 'a'\ngroups = 'a'", "groups is 'a'; give a list of texts"),
        ("[[owners]]\nowner = 'a'\nclient_ids = ['(']", "client_ids: '(' is no regular expression"),
        ("[[owners]]\nowner = 'a'\nhosts = ['10.1.2.3/16']", "'10.1.2.3/16' is no network: 10.1.2.3/16 has host bits set"),
        ("[[owners]]\nowner = 'a'\nhosts = ['10.0.0.0/33']", "'10.0.0.0/33' is no network"),
        ("[[owners]]\nowner = 'a'\nhosts = ['10.1']", r"such as 10.1.0.0/16 or fd00::/8, or an expression such as 10\.1\..*"),
        (
            "[[owners]]\nowner = 'a'\ncontact = 'x'\nhosts = ['1.1.1.1']\n[[owners]]\nowner = 'a'\ncontact = 'y'\nhosts = ['a']",
            "rule 2: the contact of 'a' is 'y', and 'x' in a rule above; give one")],
)  # fmt: skip
def test_it_names_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=r"^o\.toml: ") as caught:
        parse_owners(text, "o.toml")
    assert says in str(caught.value)


def test_an_owner_has_the_contact_of_any_of_its_rules() -> None:
    text = "[[owners]]\nowner='a'\nhosts=['1.1.1.1']\n[[owners]]\nowner='a'\ncontact='x'\nhosts=['1.1.1.2']\n"
    found = parse_owners(text, "x")
    assert {found.of(hosts=["1.1.1.1"]), found.of(hosts=["1.1.1.2"])} == {Owner("a", "x")}
