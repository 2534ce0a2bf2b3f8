"""The words in which commands, messages and the report say who a client is, on which hosts, and why a release refuses it.

The texts are as logged: each output makes them harmless and shortens them in its own way.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..config.toml_files import LONGEST_TEXT
from ..protocol import UNKNOWN
from ..releases.broker_releases import ACCEPTED, DEPRECATED, REASONS, REFUSED, TOO_OLD, UNDECIDED, release
from ..releases.client_libraries import Library, client_libraries, library_of_behaviour, may_be_held_down
from ..tables.dialects import NUMBERS
from ..tables.spec import ADVICE, CLIENT

FEW_HOSTS = 3
_NULL, _EMPTY = "(none)", "(empty)"
ANONYMOUS = "User:ANONYMOUS"
"""The principal of all clients of a listener without authentication."""
JAVA_CLIENT = "Apache Kafka's Java client"
_SUPPORTED, _ENDS_SUPPORT = "2.1", "4.0"
"""The first release of the Java client that Kafka supports, and the release of Kafka that ended support of older ones."""
REFUSED_ALREADY = "refused_already"
"""The verdict on clients that a release accepts by what they sent, and of which a broker refused other requests already."""
IN_WORDS: Mapping[str, str] = {
    REFUSED: "would break", DEPRECATED: "works, but not later", UNDECIDED: "cannot be judged",
    REFUSED_ALREADY: "refused already", ACCEPTED: "fine",
}  # fmt: skip


def who(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    cluster, principal, client_id, *of_software = (row[name] for name in CLIENT)
    return cluster, identity(principal), identity(client_id), software(*of_software)


def identity(text: str | None) -> str:
    return _NULL if text is None else text or _EMPTY


def without_numbers(client_id: str | None, mark: str = "#") -> str | None:
    return None if client_id is None else marked(client_id, NUMBERS, mark)


def marked(client_id: str, rules: Iterable[tuple[str, str]], mark: str) -> str:
    for pattern, text in rules:
        client_id = re.sub(pattern.replace(r"\z", r"\Z"), text.replace("#", mark), client_id)
    return client_id


def named_together(client_ids: Sequence[str | None], programs: Mapping[str | None, str | None]) -> str | None:
    return client_ids[0] if len(client_ids) == 1 else f"{len(client_ids):,} ids: {programs.get(client_ids[0])}"


def requested(row: Mapping[str, Any]) -> str:
    version = "" if row["api_version"] is None else f" v{row['api_version']}"
    return f"{row['api_name'] or 'unknown API'}{version}"


def on_some(use: Mapping[str, Any], words: str = " on ") -> str:
    """Return on how many of the client's connections with this API a refused version is sent; "" if on all of them."""
    some, of_api = (use.get(name) or 0 for name in ("connections", "connections_of_api"))
    return f"{words}{some:,} of {of_api:,} connections" if some < of_api and use["verdict"] == REFUSED else ""


def software(name: str | None, version: str | None) -> str:
    return str(name) if version in (None, UNKNOWN) else f"{name} {version}"


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1_000:
            return f"{number:,} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:,.1f} TB"


def explained(reason: str) -> str:
    return REASONS.get(reason, reason)


def why(reason: str, refused_from: str | None, before_release: str = "from ") -> str:
    return f"{reason} ({before_release}{refused_from})" if refused_from else reason


OTHERS = "others are not logged"
"""What takes the place of clients that are fine if all logs are at INFO."""


def verdicts(
    clients_by_verdict: Mapping[str, int], breaking: str, refused_already: int = 0, is_only_info: bool = False
) -> str:
    """Return a sentence without its end about the clients of each verdict; `breaking` is the number of those that break, as text.

    `refused_already` are further clients, of which brokers refuse requests already, and that are not fine.
    """
    later, unjudged, fine = (f"{clients_by_verdict[name]:,}" for name in (DEPRECATED, UNDECIDED, ACCEPTED))
    refused = (
        f"{refused_already:,} {'has' if refused_already == 1 else 'have'} requests that are refused already; "
        if refused_already
        else ""
    )
    are = "is" if clients_by_verdict[ACCEPTED] == 1 else "are"
    end = OTHERS if is_only_info and not clients_by_verdict[ACCEPTED] else f"{fine} {are} fine"
    return f"{breaking} would break; {later} would work, but not later; {unjudged} cannot be judged; {refused}{end}"


def probably(use: Mapping[str, Any]) -> str:
    """Return what a refused client without a name probably is, as `probably sarama 1.19.0 to 1.30.1`; "" if not known.

    How it behaves says it. If several libraries behave so, all of them are named. A client id that a library chooses by
    default is only named: other programs may use it too.
    """
    if use["verdict"] != REFUSED:
        return ""
    if not is_known_by_behaviour(use):
        if use["client_software_name"] != UNKNOWN:
            return ""
        fitting = [_fitting(**one) for one in use.get("candidate_software") or ()]
        fits = f"fits {', '.join(fitting)}, or another library that a setting pins to old versions" if fitting else ""
        return "; ".join(filter(None, (fits, _of_client_id(use))))
    first, last = use["probable_versions_from"], use["probable_versions_to"]
    return f"probably {use['probable_software_name']} {first if first == last else f'{first} to {last}'}"


def is_known_by_behaviour(use: Mapping[str, Any]) -> bool:
    return use.get("probable_software_name") is not None and use["verdict"] == REFUSED


def _fitting(software_name: str, versions_from: str, versions_to: str) -> str:
    library = library_of_behaviour(software_name)
    name = library.name if library is not None and library.software == software_name else software_name
    if library is not None and library.version_settings and may_be_held_down(software_name):
        return f"{name} {versions_from} or later with an old {library.version_settings.partition(',')[0]}"
    return f"{name} {versions_from if versions_from == versions_to else f'{versions_from} to {versions_to}'}"


def candidates(use: Mapping[str, Any]) -> set[str]:
    libraries = (library_of_behaviour(one["software_name"]) for one in use.get("candidate_software") or ())
    return {library.name for library in libraries if library is not None}


def _of_client_id(use: Mapping[str, Any]) -> str:
    library = suggested_library(use)
    if library is None:
        return ""
    return f"its client id is one that {library.name} picks by default, but other programs may use it too"


def suggested_library(use: Mapping[str, Any]) -> Library | None:
    library, fitting = library_of_default_id(use["client_id"]), candidates(use)
    return library if library is not None and (not fitting or library.name in fitting) else None


def library_of_default_id(client_id: str | None) -> Library | None:
    """Return the library that chooses a client id by default; None if none does. Other programs may use the id too."""
    if client_id is None or len(client_id) > LONGEST_TEXT:
        return None
    matches = (one for one in client_libraries() if one.client_ids and re.fullmatch(one.client_ids, client_id))
    return next(matches, None)


def advised(use: Mapping[str, Any]) -> Mapping[str, Any]:
    if not is_known_by_behaviour(use):
        return use
    return {**use, **{name: use[f"probable_{name}"] for name in ("library", *ADVICE)}}


def advice(use: Mapping[str, Any], target: str) -> str:
    """Return the text that says what to upgrade a client to, or which setting to raise; "" if that is not known.

    If the client's library is only probable, the text begins with it. If `upgrade_over` is not null, no library release works
    with both broker releases, so brokers must be upgraded to that one first.
    """
    to_do = _advice(advised(use), target)
    return ": ".join(filter(None, (probably(use), to_do)))


def to_do(use: Mapping[str, Any], target: str) -> str:
    """Return `advice`; if it names no release or setting for a request that is too old, also what to do first."""
    text = advice(use, target)
    if use["verdict"] != REFUSED or use["reason"] not in TOO_OLD or advised(use)["library"] is not None:
        return text
    is_named = use["client_software_name"] != UNKNOWN or is_known_by_behaviour(use)
    newer = "upgrade its library, or raise the setting that pins it to old versions"
    # What to do comes first, if a long list of libraries follows that may be cut.
    return ": ".join(filter(None, (text, newer) if is_named else ("find out which library it uses", text)))


def _advice(use: Mapping[str, Any], target: str) -> str:
    if use["raise_setting"] is None and use["upgrade_to"] is None:
        return ""
    brokers_first = f"; brokers to {use['upgrade_over']} first" if use["upgrade_over"] else ""
    if use["raise_setting"] is not None:
        return f"raise {held_down_by(use)}; {use['library']} is new enough{brokers_first}"
    least, remark = least_release(use, target)
    newest = f"; newest: {use['upgrade_newest']}" if use["upgrade_newest"] not in (use["upgrade_to"], None) else ""
    pinned = f"; or raise {setting}, if that pins its versions" if (setting := may_be_held_down_by(use)) else ""
    return (
        f"upgrade to {use['library']} {least} or later{f' ({remark})' if remark else ''}{newest}{brokers_first}{pinned}"
    )


def may_be_held_down_by(use: Mapping[str, Any]) -> str | None:
    """Return the setting of a client's library that may hold its versions down; None if it has none, or can't be the reason.

    A client that states its release gets either an upgrade or the setting as its advice. One that states a library and no
    release, or is known by how it behaves, up to a release that is new enough, may be held down by the setting.
    """
    if is_known_by_behaviour(use):
        may_be_new = version_numbers(use["probable_versions_to"]) >= version_numbers(str(use["upgrade_to"]))
    else:
        may_be_new = not version_numbers(use["client_software_version"])
    if not may_be_new or use["reason"] not in TOO_OLD:
        return None
    return next((one.version_settings for one in client_libraries() if one.name == use["library"]), None)


def least_release(use: Mapping[str, Any], target: str) -> tuple[str, str]:
    """Return the least release of its library that a client needs, and why it is not the least that was measured, or "".

    From 4.0 on, Kafka supports its own Java client from 2.1 on only (KIP-896), though older ones may work.
    """
    measured, newest = str(use["upgrade_to"]), str(use["upgrade_newest"] or use["upgrade_to"])
    is_supported = (
        use["library"] != JAVA_CLIENT or _is_before(target, _ENDS_SUPPORT) or not _is_before(measured, _SUPPORTED)
    )
    if is_supported or _is_before(newest, _SUPPORTED):
        return measured, ""
    supports = f"Kafka {_ENDS_SUPPORT} supports {_SUPPORTED} and later only, KIP-896"
    return _SUPPORTED, f"{measured} works as measured, but {supports}"


def _is_before(release: str, other: str) -> bool:
    return () != version_numbers(release) < version_numbers(other)


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a release, without zeros at the end, by which releases sort: 2.0 is 2.0.0, and before 2.0.1."""
    numbers = [int(number) for number in re.findall(r"[0-9]{1,6}", version.partition("-")[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def held_down_by(use: Mapping[str, Any]) -> str:
    setting = str(use["raise_setting"])
    return "the setting that pins its versions" if setting == UNKNOWN else setting


def ways_of_libraries(target: str) -> list[tuple[str, str, str, str]]:
    """Return what to do for clients of any measured library, if theirs is not known.

    For each library with a release that works with the target: its name, the first and the newest such release, and the settings
    that hold versions down in a newer one, or "".
    """
    ways = []
    for library in client_libraries():
        if measured := library.fitting(release(target)):
            way = {"library": library.name, "upgrade_to": measured[0].name, "upgrade_newest": measured[-1].name}
            least, _ = least_release(way, target)
            ways.append((library.name, least, measured[-1].name, library.version_settings or ""))
    return ways
