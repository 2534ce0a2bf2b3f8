"""What clients without a software name probably are, and what to upgrade them to.

`probable_connections` has a probable library with a range of releases for each connection that shows one. Programs may share
a client id, so that only connections that sent a request say what its client is: all of them with a probable library must
agree, each of their hosts must have one, and the range is the span of theirs. The advice is that of `upgrade_impact` for a
client with a known release, made for all releases of the range:

    releases of the range | advice
    ----------------------|----------------------------------------------------------------------------------------------
    all fit, or the last  | `raise_setting`: the client is, or may be, configured to use an older version
    others                | `upgrade_to`, `upgrade_newest`: releases after the first one of the range that fit

A row has none if its API was not measured with the release that is advised, or with those of the range.

`upgrade_over` is the release that the brokers need first, if no release of the library works with today's. As in
`upgrade_impact`, neither it nor `upgrade_newest` is known if the brokers may be older than 2.8.2.

If no library is probable, the candidates are those that fit every connection of the client that sent a request which the
target refuses, with the span of their versions.

What a client states is never replaced: these are columns of their own, and only clients without a name have them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..protocol import UNKNOWN, api_key
from ..releases.broker_releases import REFUSED, TOO_OLD, release, releases
from ..releases.client_libraries import LibraryRelease, library_of_behaviour
from ..tables.spec import ADVICE, CLIENT, CONNECTION_KEY
from .presenter import version_numbers
from .queries import grouped, same

if TYPE_CHECKING:
    from .filters import Scope
    from .queries import Tables

PROBABLE = ("probable_software_name", "probable_versions_from", "probable_versions_to")
"""Columns of `probable_connections` that say what a client without a name probably is."""
CANDIDATES = "candidate_software"
_ADVISED = ("library", *ADVICE)
_REQUEST = (*CLIENT, "api_name", "api_version")
_MOST_IDS = 500
"""With more client ids than these, a query reads all clients without a name, and not those of the ids."""
_FLOOR = "2.8.2"
"""The first measured release of brokers that log requests in JSON; of those that offer less, lowest versions say little."""
_Use = tuple[int, int, int | None, int | None]
"""An API's key and version that a client uses, and the lowest and highest version that today's brokers offer, if known."""


def add_probable(tables: "Tables", rows: Sequence[dict[str, Any]], target: str) -> None:
    """Add to rows of `upgrade_impact` at a target what their clients probably are, and the advice for that.

    Connections of the whole warehouse count, as they do for the rows. If they are expired, nothing is known.

    Args:
        tables: of the warehouse.
        rows: the columns of `CLIENT`, api_name, api_version, `verdict` and `reason` at the target. They get the columns
            `PROBABLE` and, by names with `probable_` in front, library and `ADVICE`; null if they are not known or not needed;
            and `CANDIDATES`, the libraries that fit a refused client, null if one is probable or none fits.
        target: the name of a measured release.
    """
    for row in rows:
        row.update(dict.fromkeys((*PROBABLE, *(f"probable_{name}" for name in _ADVISED), CANDIDATES)))
    unnamed = grouped((row for row in rows if row["client_software_name"] == UNKNOWN), _REQUEST)
    if not unnamed:
        return
    condition, parameters = _of_ids({request[CLIENT.index("client_id")] for request in unnamed})
    sent = _sent(tables, condition, parameters, unnamed)
    probable = _probable(sent)
    refused_requests = {request for request, own in unnamed.items() if any(row["verdict"] == REFUSED for row in own)}
    candidates = _candidates({request: own for request, own in sent.items() if request in refused_requests})
    for request in refused_requests - probable.keys():
        for row in unnamed[request]:
            row[CANDIDATES] = candidates.get(request[: len(CLIENT)]) or None
    for request, spoken in probable.items():
        for row in unnamed[request]:
            row.update(zip(PROBABLE, spoken, strict=True))
    refused = {request[: len(CLIENT)] for request in refused_requests & probable.keys()}
    used = _used(tables, condition, parameters, refused) if refused else {}
    for request, spoken in probable.items():
        if (use := used.get(request[: len(CLIENT)])) is not None:
            way, keys = _way(*spoken, *use, target)
            for row in unnamed[request]:
                row.update({f"probable_{column}": text for column, text in _of_row(way, keys, row).items()})


def without_a_name(scope: "Scope") -> tuple[int, int]:
    """Return how many connections of clients have no software name, and how many of these a probable library."""
    ((unnamed, probable),) = scope.query(
        "SELECT count(*), count(probable_software_name) FROM {probable_connections} AS c"
    )
    return unnamed, probable


def _of_ids(client_ids: Collection[str | None]) -> tuple[str, dict[str, str]]:
    """Return the condition on rows of these client ids, with its parameters; a null id counts as an empty one here."""
    if len(client_ids) > _MOST_IDS:
        return "true", {}
    parameters = {f"id_{number}": text for number, text in enumerate(sorted({text or "" for text in client_ids}))}
    return f"coalesce(client_id, '') IN ({', '.join(f'{{{name}}}' for name in parameters)})", parameters


def _sent(
    tables: "Tables", condition: str, parameters: Mapping[str, str], requests: Collection[tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    versions = {int(request[-1]) for request in requests}
    shown = (*CLIENT, "remote_host", *PROBABLE, CANDIDATES)
    columns = ", ".join((*(f"c.{name}" for name in shown), "u.api_name", "u.api_version"))
    rows = tables.query(
        f"SELECT {columns} FROM (SELECT * FROM {{probable_connections}} AS p WHERE {condition}) AS c "
        f"JOIN {{api_usage}} AS u ON {same('c', 'u', CONNECTION_KEY)} "
        f"WHERE u.api_version IN ({', '.join(map(str, sorted(versions)))}) GROUP BY {columns}",
        parameters,
    ).dicts()
    return {request: sent for request, sent in grouped(rows, _REQUEST).items() if request in requests}


def _probable(sent_by: Mapping[tuple[Any, ...], list[dict[str, Any]]]) -> dict[tuple[Any, ...], tuple[str, str, str]]:
    """Return the probable library and span of releases of requests, by what the connections show that sent them.

    These must agree on the library, and each of their hosts must have one that shows it.
    """
    probable = {}
    for request, sent in sent_by.items():
        shown = [row for row in sent if row["probable_software_name"] is not None]
        names, firsts, lasts = ({row[name] for row in shown} for name in PROBABLE)
        if len(names) == 1 and {row["remote_host"] for row in shown} == {row["remote_host"] for row in sent}:
            probable[request] = (*names, min(firsts, key=version_numbers), max(lasts, key=version_numbers))
    return probable


def _candidates(sent_by: Mapping[tuple[Any, ...], list[dict[str, Any]]]) -> dict[tuple[Any, ...], list[dict[str, str]]]:
    """Return the measured libraries that fit all connections of a client which sent one of the requests."""
    candidates = {}
    for client, sent in grouped((row for own in sent_by.values() for row in own), CLIENT).items():
        fitting = [{one["software_name"]: one for one in row[CANDIDATES] or ()} for row in sent]
        names = [name for name in fitting[0] if name != UNKNOWN and all(name in own for own in fitting)]
        ends = (("versions_from", min), ("versions_to", max))
        candidates[client] = [
            {"software_name": name}
            | {end: of((own[name][end] for own in fitting), key=version_numbers) for end, of in ends}
            for name in names
        ]
    return candidates


def _used(
    tables: "Tables", condition: str, parameters: Mapping[str, str], clients: Collection[tuple[Any, ...]]
) -> dict[tuple[Any, ...], tuple[frozenset[_Use], frozenset[str]]]:
    offers = {
        (cluster, key): (low, high)
        for cluster, key, low, high in tables.query(
            "SELECT cluster, api_key, max(min_version) AS least, min(max_version) AS most FROM (SELECT *, max(last_seen) "
            "OVER (PARTITION BY cluster, broker, listener) AS newest FROM {broker_api_versions} AS b) AS answers "
            "WHERE last_seen = newest GROUP BY cluster, api_key"
        )
    }
    in_json = "SELECT cluster FROM {connections} AS c GROUP BY cluster HAVING bool_and(log_generation = 'json')"
    for (cluster,) in tables.query(in_json):
        if cluster not in {known for known, _ in offers}:  # its brokers are 2.8 or later
            offers |= {(cluster, key): (own.low, own.high) for key, own in release(_FLOOR).apis.items()}
    rows = tables.query(
        f"SELECT {', '.join(CLIENT)}, api_key, api_version, map_keys(refused_by) AS refusing FROM {{upgrade_impact}} AS i "
        f"WHERE client_software_name = '{UNKNOWN}' AND {condition}",
        parameters,
    ).dicts()
    return {
        client: (
            frozenset(
                (row["api_key"], row["api_version"], *offers.get((row["cluster"], row["api_key"]), (None, None)))
                for row in own
            ),
            frozenset(name for row in own for name in row["refusing"]),
        )
        for client, own in grouped(rows, CLIENT).items()
        if client in clients
    }


def _of_row(way: Mapping[str, str | None], keys: Collection[int], row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the advice that helps a row, if its API is one of `keys`; a setting helps only if its version is too old."""
    if row["verdict"] != REFUSED:
        return dict.fromkeys(way)
    is_measured, is_too_old = api_key(row["api_name"]) in keys, row["reason"] in TOO_OLD
    helps = dict.fromkeys(way, is_measured) | {"library": True, "raise_setting": is_measured and is_too_old}
    return {name: text if helps[name] else None for name, text in way.items()}


@lru_cache(maxsize=1024)
def _way(
    software: str, first: str, last: str, uses: frozenset[_Use], refusing: frozenset[str], target: str
) -> tuple[Mapping[str, str | None], frozenset[int]]:
    """Return the library's name and the advice at the target for clients with a release from `first` to `last`.

    Beside it are the keys of the APIs for which the advice was measured. `refusing` are the releases of Kafka that refuse
    any of the `uses`.
    """
    if (library := library_of_behaviour(software)) is None:
        return {}, frozenset()
    keys = {key for key, *_ in uses}
    measured = [one for one in library.releases if keys & one.speaks.keys()]

    def takes(one: LibraryRelease, broker: str) -> bool:
        return all(one.fits(key, releases()[broker]) for key in keys & one.speaks.keys())

    advice: dict[str, str | None] = dict.fromkeys(_ADVISED) | {"library": library.name}

    def fits(one: LibraryRelease) -> bool:
        return _works_today(one, uses) and takes(one, target)

    own = _standing_for(measured, first, last)
    if own and all(map(fits, own)):
        return advice | {"raise_setting": library.version_settings or UNKNOWN}, _spoken_by_all(own)
    newer = [one for one in measured if version_numbers(one.name) > version_numbers(first) and takes(one, target)]
    fitting, over = [one for one in newer if _works_today(one, uses)], None
    possible = [one for one in newer if _works_today(one, uses) or _is_unsure(one, uses)]
    unsure = bool(possible) and _is_unsure(possible[-1], uses)
    if not fitting and not unsure:
        brokers = {
            one.name: next((name for name in releases() if name not in refusing and takes(one, name)), None)
            for one in newer
        }
        over = next(filter(None, brokers.values()), None)
        fitting = [one for one in newer if over is not None and brokers[one.name] == over]
    if not fitting:
        return advice, frozenset()

    def fits_later(one: LibraryRelease) -> bool:
        return takes(one, target) and (_works_today(one, uses) if over is None else takes(one, over))

    own = _standing_for(measured, last, last)
    if version_numbers(fitting[0].name) >= version_numbers(last) and own and all(map(fits_later, own)):
        # It may be the release that the client has.
        setting = {"raise_setting": library.version_settings or UNKNOWN, "upgrade_over": over}
        return advice | setting, _spoken_by_all(own)
    newest = None if unsure else fitting[-1].name
    upgrade = {"upgrade_to": fitting[0].name, "upgrade_newest": newest, "upgrade_over": over}
    return advice | upgrade, _spoken_by_all(fitting[:1])


def _works_today(one: LibraryRelease, uses: Iterable[_Use]) -> bool:
    """Return whether a release speaks a version that today's brokers take of every API that is used and was measured.

    If no range is logged, the version that the client uses is known to work with today's brokers.
    """
    spoken = ((*one.speaks[use[0]], use) for use in uses if use[0] in one.speaks)
    return all(
        low <= (version if most is None else most) and high >= (version if least is None else least)
        for low, high, (_, version, least, most) in spoken
    )


def _is_unsure(one: LibraryRelease, uses: Iterable[_Use]) -> bool:
    """Return whether a release may work with today's brokers, which are older than those with which it was measured."""
    floor = release(_FLOOR).apis
    return any(
        one.speaks[key][0] > (version if most is None else most) and (-1 if most is None else most) < floor[key].high
        for key, version, _, most in uses
        if key in one.speaks and key in floor
    )


def _standing_for(measured: Iterable[LibraryRelease], first: str, last: str) -> list[LibraryRelease]:
    """Return the measured releases that stand for a range; none if it begins before all of them.

    One that was not measured is judged by those that were measured before and after it; after the newest one, by that one.
    """
    numbers = {version_numbers(one.name): one for one in measured}
    before = max((own for own in numbers if own <= version_numbers(first)), default=None)
    after = min((own for own in numbers if own >= version_numbers(last)), default=max(numbers, default=()))
    return [] if before is None else [one for own, one in numbers.items() if before <= own <= after]


def _spoken_by_all(measured: Iterable[LibraryRelease]) -> frozenset[int]:
    """Return the keys of the APIs that all of these releases, at least one, were seen to use."""
    return frozenset.intersection(*(frozenset(one.speaks) for one in measured))
