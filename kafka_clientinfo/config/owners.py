"""Owners of clients, by patterns on what a log shows of a client: the first rule of a file that fits names the owner.

A rule fits if each kind of pattern in it fits (principals, client ids, hosts, groups, topics, software, clusters); of one
kind, any pattern may fit. Patterns are regular expressions on whole texts; a host may be given as a network too. A null in the
log is an empty text here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from ..errors import ConfigError
from .toml_files import LONGEST_TEXT, check_names, checked_pattern, list_of_texts, parsed, shown, text_of

KINDS = ("principals", "client_ids", "hosts", "groups", "topics", "software", "clusters")
_KEYS = ("owner", "contact", *KINDS)
_LONGEST_NAME = 200
_ADDRESS = re.compile(r"[0-9a-fA-F:.%]+(?:/[^/]*)?")


@dataclass(frozen=True, slots=True)
class Owner:
    """A team or person responsible for clients; the contact is free text, and empty if none is given."""

    name: str
    contact: str = ""


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """The patterns that give clients an owner; a kind without patterns fits every client."""

    owner: Owner
    patterns: Mapping[str, tuple[str, ...]]
    networks: tuple[IPv4Network | IPv6Network, ...]


@dataclass(frozen=True, slots=True)
class Owners:
    rules: tuple[OwnerRule, ...] = ()

    def ask(self, kind: str) -> bool:
        return any(rule.patterns[kind] for rule in self.rules)

    def of(self, **values: Sequence[str | None]) -> Owner | None:
        """Return the owner by some of `KINDS`, see `rule_of`; None if no rule fits."""
        rule = self.rule_of(values)
        return None if rule is None else self.rules[rule].owner

    def rule_of(self, values: Mapping[str, Sequence[str | None]]) -> int | None:
        """Return the place of the first rule that fits values of `KINDS`; None if no rule fits.

        One fitting group, or topic, of a client is enough. A client without one has none; another kind that is not given is null.
        """
        given: dict[str, Sequence[str | None]] = dict.fromkeys(KINDS, (None,))
        given |= {"groups": (), "topics": (), **values}
        texts = {kind: [text or "" for text in own] for kind, own in given.items()}
        return next((place for place, rule in enumerate(self.rules) if _fits(rule, texts)), None)


def _fits(rule: OwnerRule, texts: Mapping[str, Sequence[str]]) -> bool:
    for kind, patterns in rule.patterns.items():
        networks = rule.networks if kind == "hosts" else ()
        if (patterns or networks) and not any(
            _matches(patterns, text) or _is_within(networks, text) for text in texts[kind]
        ):
            return False
    return True


@lru_cache(maxsize=1 << 16)
def _matches(patterns: tuple[str, ...], text: str) -> bool:
    return len(text) <= LONGEST_TEXT and any(re.fullmatch(pattern, text) for pattern in patterns)


@lru_cache(maxsize=1 << 16)
def _is_within(networks: tuple[IPv4Network | IPv6Network, ...], text: str) -> bool:
    if not networks or len(text) > LONGEST_TEXT:
        return False
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)


def load_owners(path: str) -> Owners:
    """Return the owners in a file; none if `path` is empty."""
    if not path:
        return Owners()
    return parse_owners(text_of(path, "owners"), path)


def parse_owners(text: str, source: str) -> Owners:
    data = parsed(text, source)
    check_names(data, ("owners",), source, fix="begin each rule with [[owners]]")
    entries = data.get("owners")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise ConfigError(f"{source}: there are no rules; begin each with [[owners]]")
    contacts: dict[str, str] = {}
    rules = [_rule(entry, f"{source}: rule {number}", contacts) for number, entry in enumerate(entries, 1)]
    return Owners(tuple(replace(rule, owner=Owner(rule.owner.name, contacts[rule.owner.name])) for rule in rules))


def _rule(entry: Mapping[str, Any], where: str, contacts: dict[str, str]) -> OwnerRule:
    check_names(entry, _KEYS, where)
    name, contact = entry.get("owner"), entry.get("contact", "")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise ConfigError(f"{where}: owner is {shown(name)}; give a name of at most {_LONGEST_NAME} characters")
    if not isinstance(contact, str):
        raise ConfigError(f"{where}: contact is {shown(contact)}; give a text")
    known = contacts[name] = contacts.get(name) or contact
    if contact and contact != known:
        raise ConfigError(f"{where}: the contact of {name!r} is {contact!r}, and {known!r} in a rule above; give one")
    given = {kind: list_of_texts(entry, kind, where) for kind in KINDS}
    if not any(given.values()):
        raise ConfigError(f"{where}: it has no patterns, and would fit everybody; give one of {', '.join(KINDS)}")
    networks = tuple(_network(text, where) for text in given["hosts"] if _ADDRESS.fullmatch(text))
    given["hosts"] = tuple(text for text in given["hosts"] if _ADDRESS.fullmatch(text) is None)
    for kind, patterns in given.items():
        for pattern in patterns:
            checked_pattern(pattern, f"{where}: {kind}")
    return OwnerRule(Owner(name, known), given, networks)


def _network(text: str, where: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigError(
            f"{where}: hosts: {text!r} is no network: {error}; write one such as 10.1.0.0/16 or fd00::/8, or an expression "
            r"such as 10\.1\..*"
        ) from None
