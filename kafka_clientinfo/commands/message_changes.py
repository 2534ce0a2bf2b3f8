"""What a message says to do about a program: which release to take, or which setting to change, and what stops without it.

A client id never names a library. If it is one that a library chooses by default, the step begins with "if".
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from ..printable import safe
from ..protocol import UNKNOWN, api_key
from ..questions.presenter import (
    JAVA_CLIENT,
    advised,
    held_down_by,
    least_release,
    may_be_held_down_by,
    suggested_library,
    version_numbers,
    ways_of_libraries,
)
from ..releases.broker_releases import TOO_OLD, release
from ..releases.client_libraries import Library, client_libraries
from .output import markdown_text

_TEXT = 240
_UNKNOWN_LIBRARY = "If the library is not known"
_APIS = {
    use: frozenset(apis)
    for use, apis in tomllib.loads((files(__package__) / "uses_of_apis.toml").read_text("utf-8")).items()
}


def what_stops(api_names: Collection[str | None]) -> str:
    """Return what a program can no longer do if requests of these APIs are refused, as far as their names say."""
    apis = set(api_names)
    uses = {use for use, own in _APIS.items() if apis & own}
    if "everything" in uses:
        return "everything"
    parts = [
        ("reading", "reading" in uses),
        ("finding or saving the position from which it reads", "positions" in uses and "reading" not in uses),
        ("writing", "writing" in uses),
        ("finding its consumer group or its transactions", "coordinators" in uses),
        ("administration, such as of topics or groups", "administration" in uses),
        ("what it does with the other requests in the appendix", apis.difference(*_APIS.values())),
    ]
    return "; ".join(text for text, stops in parts if stops)


def changes(own_uses: Sequence[Mapping[str, Any]], target: str) -> Iterator[str]:
    """Return what to do about the refused uses of one client, in Markdown."""
    uses = [advised(use) for use in own_uses]
    held = {use["library"]: use for use in uses if use["raise_setting"] is not None}
    for library, use in held.items():
        setting = _if_it_sets(library) or f"raise {_text(held_down_by(use))}"
        yield (
            f"keep its release of {_named(library)}, which works with Kafka {target}, and have it send newer "
            f"requests{_brokers_first(use)}: {setting}"
        )
    ways = {
        tuple(use[name] for name in ("library", "upgrade_to", "upgrade_newest", "upgrade_over")): use
        for use in uses
        if use["library"] and use["upgrade_to"]
    }
    for (library, first_one, newest, _), use in ways.items():
        least, _ = least_release(use, target)
        more, first = f" (newest: {_text(newest)})" if newest not in (first_one, None) else "", _brokers_first(use)
        if may_be_held_down_by(use) and (setting := _if_it_sets(library)):
            yield (
                f"look first which release of {_named(library)} it has: if it is older than {_text(least)}, upgrade to {_text(least)} or "
                f"later{more}{first}; {setting}"
            )
        else:
            yield f"upgrade {_named(library)} to {_text(least)} or later{more}{first}"
    if not held and not ways:
        yield _without_advice(uses, target)


def _without_advice(uses: Sequence[Mapping[str, Any]], target: str) -> str:
    if not has_no_library(uses):
        return (
            "its library must send newer requests, which the appendix names: take a newer release of it, or raise the setting "
            "that pins it to older ones"
        )
    library = suggested_library(uses[0])
    ways = {name: (least, newest) for name, least, newest, _ in ways_of_libraries(target)}
    if library is None or library.name not in ways or any(use["reason"] not in TOO_OLD for use in uses):
        return f"find out which library it uses, and see “{_UNKNOWN_LIBRARY}” below"
    least, newest = ways[library.name]
    setting, release = _if_it_sets(library.name), _release_of_id(library, uses[0]["client_id"])
    if setting and version_numbers(release) >= version_numbers(least):
        return (
            f"if this is {_text(library.name)} {_text(release)}, as its client id suggests, its release is new enough: {setting}. "
            f"If it is not, see “{_UNKNOWN_LIBRARY}” below"
        )
    return (
        f"if this is {_named(library.name)}, as its client id suggests: upgrade to {least} or later (newest: {newest})"
        f"{f', and {setting}' if setting else ''}. If it is not, see “{_UNKNOWN_LIBRARY}” below"
    )


def _release_of_id(library: Library, client_id: str) -> str:
    """Return the release that a default client id has in it, such as `2.1.5` of `kafka-python-2.1.5`; "" if it has none."""
    match = re.fullmatch(library.client_ids or "", client_id)
    return next(filter(None, match.groups()), "") if match else ""


def _if_it_sets(library: str | None) -> str:
    """Return what to do about the settings of a library that hold versions down; "" if it is not known to have any."""
    measured = next((one for one in client_libraries() if one.name == library), None)
    if measured is None or measured.remedy is None:
        return ""
    return f"if your program sets {_text(measured.pinned_by)}, {_text(measured.remedy)}"


def _brokers_first(use: Mapping[str, Any]) -> str:
    over = use["upgrade_over"]
    return f", once the brokers have Kafka {_text(over)}, which both it and today's clients work with" if over else ""


def has_no_library(uses: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether neither the clients nor how they behave say which library they use."""
    return all(use["client_software_name"] == UNKNOWN and use["library"] is None for use in uses)


def of_any_library(target: str, brokers: str, fitting: Collection[str] = ()) -> str:
    """Return what to do for each measured library, in Markdown, those first that fit the clients.

    `brokers` is their release in words.
    """
    ways = [
        f"- {_named(name)}: upgrade to {least} or later (newest: {newest})"
        + (f"; {setting}." if (setting := _if_it_sets(name)) else ".")
        for name, least, newest, _ in sorted(ways_of_libraries(target), key=lambda way: way[0] not in fitting)
    ]
    remark = (
        f"These releases work with Kafka {target}. Check that the one you take works with today's brokers too{brokers}."
    )
    return f"### {_UNKNOWN_LIBRARY}\n\n{remark}\n\n" + "\n".join(ways)


def _named(library: str) -> str:
    """Return a library's name; that of Apache Kafka's with its dependency, as the others are called like theirs."""
    return f"{_text(library)}{' (kafka-clients)' if library == JAVA_CLIENT else ''}"


def _text(value: str | None) -> str:
    return markdown_text(safe(value or "", _TEXT))


def accepted_versions(target: str, name: str) -> str:
    """Return the versions of an API, by its name, that a release accepts, such as `v4 to v18`."""
    broker = release(target)
    if (key := api_key(name)) is None or (advertised := broker.apis.get(key)) is None:
        return "none, because it does not have this API"
    versions = range(advertised.low, advertised.high + 1)
    accepted = [version for version in versions if broker.accepts(key, version)]
    begins = [version for version in accepted if version - 1 not in accepted]
    ends = [version for version in accepted if version + 1 not in accepted]
    ranges = [f"v{low}" if low == high else f"v{low} to v{high}" for low, high in zip(begins, ends, strict=True)]
    return " and ".join(ranges) or "none"
