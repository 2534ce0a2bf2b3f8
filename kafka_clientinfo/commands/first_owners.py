"""The file of owners to begin with, of `clients --init-owners`: rules guessed from the principals and client ids that were seen.

Each principal gets a rule, and a role of AWS that instances assume gets one for all of them. Where nobody logs in, client ids
that differ by numbers or suffixes of pods only get one rule if they use the same topics. Ids that libraries or tools choose,
and what no pattern can name, get a comment, as they say nothing of an owner.

A rule is for the clusters where its clients were seen, and one each if they use other topics or groups there: a name may
be that of several owners.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..config.toml_files import LONGEST_TEXT
from ..printable import few, safe
from ..questions.filters import Scope
from ..questions.losses import NamesByClient, groups_of_clients
from ..questions.presenter import ANONYMOUS, JAVA_CLIENT, counted, library_of_default_id, marked, without_numbers
from ..questions.queries import grouped, programs
from ..questions.topics import topics_of_clients
from ..tables.dialects import POD, PODS, UUID
from ..tables.spec import CLIENT
from .ownership import Ownership, seen_endpoints

_LONGEST_NAME = 200
_NAMES = 3
_FIRST_LINES = """# Who owns which clients, for --owners and the setting `owners`: made from the clients that were seen, to be corrected.
#
# The first rule that fits gives the owner. Owners are guessed by name: set them, join rules of one owner, and add contact = "...".
# A pattern is a regular expression for a whole text; conf/owners.toml in the repository shows all kinds of rules.
"""
_NOBODYS = """
# These client ids are chosen by libraries or tools, and belong to nobody: give owners by hosts, groups or topics.
"""
_LEFT_OUT = """
# Without a rule: {}, being empty, longer than {} characters, or with characters that this file cannot show, such as a line
# break: give owners by hosts, groups or topics.
"""
_ROLE = re.compile(r"\[?IAM\]?:\[?arn:aws[a-z-]*:sts::\d*:assumed-role/([^/\[\]]+)/[^\[\]]*\]?")
_PICKED = re.compile(r"(?:producer|consumer|adminclient)-\d+|(?:consumer-|producer-)?console-.*|perf-.*client")
"""Client ids of Apache Kafka's Java client and tools that name no program; with a group in them, an id says something."""
_OF_GROUP = re.compile(r"(?:producer|consumer|adminclient)-(.+)-\0")
_VARYING = {"\0": r"\d+", "\1": "[0-9a-f-]{36}", "\2": "[0-9a-z]+"}
"""Marks of numbers, UUIDs and what Kubernetes adds to names of pods, which no plain id has, and the expressions that fit them."""
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")

_Rule = tuple[str, str, str]


def first_owners(scope: Scope, ownership: Ownership) -> str:
    """Write a file of owners to begin with; "" if it would name nobody. Who has an owner gets no rule."""
    by_rule: dict[_Rule, list[dict[str, Any]]] = {}
    by_numbers: dict[tuple[str, str], list[dict[str, Any]]] = {}
    of_nobody: dict[str, list[dict[str, Any]]] = {}
    left_out: set[tuple[str, str]] = set()
    names = programs(scope.tables)
    for row in (one for one in seen_endpoints(scope) if ownership.of(one) is None):
        principal, client_id = row["principal"] or "", row["client_id"] or ""
        kind, name = ("client id", client_id) if principal in ("", ANONYMOUS) else ("principal", principal)
        if not (name and _is_plain(name) and _is_plain(row["cluster"])):
            left_out.add((kind, name))
        elif kind == "principal":
            by_rule.setdefault(_of_principal(principal), []).append(row)
        elif _is_nobodys(client_id):
            of_nobody.setdefault(client_id, []).append(row)
        else:
            pods = PODS if names.get(client_id) in (None, without_numbers(client_id)) else (*PODS, POD)
            without = str(without_numbers(marked(re.sub(UUID, "\1", client_id), pods, "\2"), "\0"))
            by_numbers.setdefault((row["cluster"], without), []).append(row)
    topics = topics_of_clients(scope)
    for (_, without), rows in by_numbers.items():
        topics_by_id: dict[str, set[str]] = {}
        for row in rows:
            topics_by_id.setdefault(row["client_id"], set()).update(topics.get(tuple(row[name] for name in CLIENT), ()))
        is_one = len(set(map(frozenset, topics_by_id.values()))) == 1
        for row in rows:
            by_rule.setdefault(_of_ids(without if is_one else row["client_id"], row["client_id"]), []).append(row)
    return _file(_by_clusters(by_rule, scope, topics), of_nobody, left_out)


def _by_clusters(
    by_rule: Mapping[_Rule, list[dict[str, Any]]], scope: Scope, topics: NamesByClient
) -> dict[tuple[_Rule, tuple[str, ...]], list[dict[str, Any]]]:
    """Divide rules by the topics and groups that their clients use in each cluster; () stands for all clusters."""
    groups, everywhere = groups_of_clients(scope), {row["cluster"] for row in seen_endpoints(Scope(scope.tables))}
    divided = {}
    for (owner, kind, pattern), rows in by_rule.items():
        by_use: dict[tuple[frozenset[str], ...], list[dict[str, Any]]] = {}
        for own in grouped(rows, ("cluster",)).values():
            clients = {tuple(row[name] for name in CLIENT) for row in own}
            uses = (frozenset(name for one in clients for name in names.get(one, ())) for names in (topics, groups))
            by_use.setdefault(tuple(uses), []).extend(own)
        for own in by_use.values():
            clusters = sorted({row["cluster"] for row in own})
            name = f"{owner} ({', '.join(clusters)})" if len(by_use) > 1 else owner
            divided[(name, kind, pattern), () if everywhere == set(clusters) else tuple(clusters)] = own
    return divided


def _file(
    by_rule: Mapping[tuple[_Rule, tuple[str, ...]], list[dict[str, Any]]],
    of_nobody: Mapping[str, list[dict[str, Any]]],
    left_out: Collection[tuple[str, str]],
) -> str:
    if not by_rule and not of_nobody:
        return ""
    parts = [_FIRST_LINES]
    # A client id says less than a principal: one that logs in may have it too.
    ordered = sorted(by_rule.items(), key=lambda item: (item[0][0][1] != "principals", *_most_used(item)))
    parts += (_text(*rule, clusters, rows) for (rule, clusters), rows in ordered)
    if of_nobody:
        parts.append(_NOBODYS)
        parts += (
            f"#   {client_id}: {_counts(rows)}\n" for client_id, rows in sorted(of_nobody.items(), key=_most_used)
        )
    if left_out:
        numbers = sorted(Counter(kind for kind, _ in left_out).items())
        parts.append(_LEFT_OUT.format(" and ".join(counted(number, kind) for kind, number in numbers), LONGEST_TEXT))
    return "".join(parts)


def _is_plain(text: str) -> bool:
    return safe(text) == text and len(text) <= LONGEST_TEXT


def _is_nobodys(client_id: str) -> bool:
    library = library_of_default_id(client_id)
    return _PICKED.fullmatch(client_id) is not None or (library is not None and library.name != JAVA_CLIENT)


def _of_principal(principal: str) -> _Rule:
    if (of_role := _ROLE.fullmatch(principal)) is not None:
        return of_role[1], "principals", f".*assumed-role/{_escaped(of_role[1])}/.*"
    return principal.removeprefix("User:"), "principals", _escaped(principal)


def _of_ids(without: str, client_id: str) -> _Rule:
    """Return the rule of the ids that are alike but for their marks; only a name without any may be that of one id."""
    of_group = _OF_GROUP.fullmatch(without)
    owner = re.sub(r"[-_.:#]*[\0-\2]", "", of_group[1] if of_group else without) or client_id
    return owner, "client_ids", re.sub(r"[\0-\2]", lambda mark: _VARYING[mark[0]], _escaped(without))


def _escaped(text: str) -> str:
    """Return a regular expression for a text, without the escapes of `re.escape` that nothing needs."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _text(owner: str, kind: str, pattern: str, clusters: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    names = sorted({row[kind.removesuffix("s")] for row in rows})
    named = f"# {few(names, _NAMES)}\n" if len(names) > 1 else ""
    of_clusters = f"clusters = [{', '.join(_toml(_escaped(name)) for name in clusters)}]\n" if clusters else ""
    of_owner = f"[[owners]]\nowner = {_toml(owner[:_LONGEST_NAME])}\n{kind} = [{_toml(pattern)}]\n{of_clusters}"
    return f"\n# {_counts(rows)}\n{named}{of_owner}"


def _counts(rows: Sequence[dict[str, Any]]) -> str:
    hosts = sorted({row["remote_host"] for row in rows if row["remote_host"] is not None})
    where = f"from {counted(len(hosts), 'host')}, such as {safe(hosts[0])}" if hosts else "hosts masked or not logged"
    number = counted(sum(row["connections"] for row in rows), "connection")
    return f"{number} {where}" if hosts else f"{number}, {where}"


def _most_used(item: tuple[Any, list[dict[str, Any]]]) -> tuple[int, Any]:
    return -sum(row["connections"] for row in item[1]), item[0]


def _toml(text: str) -> str:
    """Return a TOML string: a literal one, in which nothing is escaped, unless the text has a quote of its own."""
    return json.dumps(text, ensure_ascii=False) if "'" in text else f"'{text}'"
