"""The software that clients state (KIP-511), how it changes, and the rules on it and those of the policy.

Severities and advice of the rules are in schemas/rules/client_software.toml.
"""

import tomllib
from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase

from .. import resources
from ..config.policy import VERSION, Policy
from ..config.settings import Settings
from ..config.toml_files import LONGEST_TEXT
from ..connections.concern import (
    Aggregates,
    Columns,
    Concern,
    ConnectionRule,
    LookBack,
    Reads,
    RequestRule,
    is_api_versions,
)  # fmt: skip
from ..connections.engine import Column, F
from ..connections.judged import requests_where
from ..connections.look_backs import last_before
from ..connections.table import is_exempt, only_of_clients
from ..connections.texts import any_of, body_text, constant_map, looked_up, sentence, shown, sorted_texts
from ..protocol import BROKER_PATTERN_SQL, FIRST_VERSION_WITH_SOFTWARE, KIP_PATTERN_SQL, UNKNOWN, ErrorCode
from ..releases.client_libraries import BINDINGS
from ..releases.client_signatures import BOUNDS, libraries, number_of_words, words_by_library

_UNSUPPORTED, _INVALID = int(ErrorCode.UNSUPPORTED_VERSION), int(ErrorCode.INVALID_REQUEST)
_AS_AGGREGATED = ("software_valid_by_kip", "software_valid_by_broker", "software_resets", "software_changes")
_COMPARE = ("org.apache.hadoop.util.VersionUtil", "compareVersions")
_LONGEST_VERSION = 64
_POLICY_RULES = {
    "software_unknown": "policy_unknown_software",
    "software_not_allowed": "policy_software",
    "version_too_old": "policy_version",
    "version_unreadable": "policy_version_unreadable",
    "client_id_not_allowed": "policy_client_id",
}
_PROGRAMS = tomllib.loads((resources.schemas() / "default_client_ids.toml").read_text("utf-8"))


def reads() -> Columns:
    """Read the software version that an ApiVersions request states."""
    return {"sent_software_version": F.when(is_api_versions(), body_text("request", "clientSoftwareVersion"))}


def earlier() -> Mapping[str, LookBack]:
    """Take the software that the broker knew after the last valid ApiVersions request before this one."""
    return {"software_before": last_before(software_after(), is_registered())}


def predicates() -> Columns:
    """Judge an ApiVersions request: an invalid name or version, and how it changes the software that the broker knew.

    2.4 accepts names without logging them, so a reset does no harm there, but a change of the name counts.
    """
    logged = F.when(
        F.col("client_software_name").isNotNull(), _software("client_software_name", "client_software_version")
    )
    known = F.coalesce(logged, F.col("software_before"))
    was_known = is_registered() & F.coalesce(known["name"] != UNKNOWN, F.lit(False))
    after = software_after()
    becomes_known = F.coalesce(after["name"] != UNKNOWN, F.lit(False))
    return {
        "software_name_is_invalid": _is_invalid("sent_software_name"),
        "software_version_is_invalid": _is_invalid("sent_software_version"),
        "software_is_invalid_by_kip": _differs("sent_software_name", KIP_PATTERN_SQL)
        | _differs("sent_software_version", KIP_PATTERN_SQL),
        "software_is_reset": was_known & ~can_name() & logged.isNotNull(),
        "software_is_changed": was_known & becomes_known & (known != after),
        "known_software": F.when(was_known, known),
    }


def _is_invalid(name: str) -> Column:
    """Return whether a broker refuses a text: not one that the KIP allows, and that the broker took as it is."""
    is_taken = (F.col("error_code") == int(ErrorCode.NONE)) & ~_differs(name, KIP_PATTERN_SQL)
    return _differs(name, BROKER_PATTERN_SQL) & ~F.coalesce(is_taken, F.lit(False))


def _differs(name: str, pattern: str) -> Column:
    return F.coalesce(~F.col(name).rlike(pattern), F.lit(False))


def can_name() -> Column:
    """Return whether an ApiVersions request has fields for a software name."""
    return F.col("api_version") >= FIRST_VERSION_WITH_SOFTWARE


def is_registered() -> Column:
    """Return whether a request is an ApiVersions of which the broker takes the software, whatever else it answers.

    It does before it looks at the rest of a valid request, so that one to another cluster counts (4.4, KIP-1242).
    """
    error, is_valid = F.col("error_code"), ~_differs("sent_software_name", BROKER_PATTERN_SQL)
    is_taken = (error == int(ErrorCode.NONE)) | (~error.isin(_UNSUPPORTED, _INVALID) & is_valid)
    return is_api_versions() & F.coalesce(is_taken, F.lit(False))


def software_after() -> Column:
    """Return the software that the broker knows after a valid ApiVersions request; null for other requests.

    From v3 on a request names the software; v0 to v2 reset it to unknown.
    """
    unknown = F.struct(F.lit(UNKNOWN).alias("name"), F.lit(UNKNOWN).alias("version"))
    named = _software("sent_software_name", "sent_software_version")
    return F.when(is_registered(), F.when(can_name(), named).otherwise(unknown))


def _software(name: str, version: str) -> Column:
    return F.struct(
        F.coalesce(name, F.lit(UNKNOWN)).alias("name"), F.coalesce(version, F.lit(UNKNOWN)).alias("version")
    )


def aggregates() -> Aggregates:
    """Collect what a connection's ApiVersions requests stated, and the software that the broker knew after them."""
    after = software_after()
    accepted = after.isNotNull()
    name_is_invalid, version_is_invalid = F.col("software_name_is_invalid"), F.col("software_version_is_invalid")
    names_software = F.col("sent_software_name").isNotNull()
    return {
        # A forwarded request has the software of the client that sent it first.
        "last": F.max(
            F.when(
                ~F.col("is_forwarded"),
                F.struct(F.col("last_seq").alias("seq"), "client_software_name", "client_software_version"),
            )
        ),
        "software_valid_by_kip": F.bool_and(F.when(names_software, ~F.col("software_is_invalid_by_kip"))),
        "software_valid_by_broker": F.bool_and(F.when(names_software, ~(name_is_invalid | version_is_invalid))),
        "invalid_names": sorted_texts(F.when(name_is_invalid, F.col("sent_software_name"))),
        "invalid_versions": sorted_texts(F.when(version_is_invalid, F.col("sent_software_version"))),
        "software_resets": requests_where(F.col("software_is_reset")),
        "software_changes": requests_where(F.col("software_is_changed")),
        "software_after": F.max_by(F.struct("seq", after.alias("software")), F.when(accepted, F.col("seq"))),
        "accepted_software": F.max_by(after, F.when(accepted & can_name(), F.col("seq"))),
        "last_api_versions_error": F.max_by("error_code", F.when(is_api_versions(), F.col("seq"))),
        "refused_names": requests_where((F.col("error_code") == _INVALID) & (name_is_invalid | version_is_invalid)),
    }


def columns(settings: Settings) -> Columns:
    name = _at_end("client_software_name", "name")
    version = _at_end("client_software_version", "version")
    judged = {
        **{name: F.col(name) for name in _AS_AGGREGATED},
        "reason_unknown": F.when(name == UNKNOWN, _reason_unknown()),
        **_probable_columns(name == UNKNOWN),
        **_policy_columns(settings, name, version),
    }
    return {
        "client_software_name": name,
        "client_software_version": version,
        "invalid_software_texts": F.array_sort(F.array_union("invalid_names", "invalid_versions")),
        **only_of_clients(judged),
    }


def _at_end(logged: str, sent: str) -> Column:
    """Return what the broker knows after the last request; a record logs what it knew before the request."""
    ends_with_it = F.col("last.seq") == F.col("software_after.seq")
    return F.coalesce(
        F.when(F.col(f"last.{logged}").isNull(), F.col(f"accepted_software.{sent}")),
        F.when(ends_with_it, F.col(f"software_after.software.{sent}")),
        F.col(f"last.{logged}"),
        F.lit(UNKNOWN),
    )


def _logs_names() -> Column:
    """Return whether records show the software that the broker knows, as those of 2.5 and later do."""
    return F.col("last.client_software_name").isNotNull()


def _is_version_with_name_refused() -> Column:
    """Return whether the broker refused a version of ApiVersions that has a name, so that the client could state none.

    Brokers up to 2.3 accept no name. A client that is offered v3 or later and goes on without a name chose that itself.
    """
    error, highest = F.col("last_refused.error_code"), F.coalesce("last_refused.offered_max", F.lit(-1))
    has_name = (error == _UNSUPPORTED) & (F.col("last_refused.version") >= FIRST_VERSION_WITH_SOFTWARE)
    is_lasting = F.col("api_versions_outcome").isin("fell_back", "rejected_unsupported_version")
    sent_others = F.col("requests") > F.size("attempts")
    chose_none = (highest >= FIRST_VERSION_WITH_SOFTWARE) & (sent_others | (F.col("accepted_attempts") > 0))
    return F.coalesce(is_lasting & has_name & ~chose_none, F.lit(False))


def _reason_unknown() -> Column:
    """Return why the broker knows no name. INVALID_REQUEST may be due to KIP-1313 and need not mean a bad name."""
    outcome = F.col("api_versions_outcome")
    is_hidden = (F.col("first.log_generation") == "request_header_struct") & ~_logs_names()
    was_invalid = (F.col("last_api_versions_error") == _INVALID) | (outcome == "negotiated_after_invalid_request")
    return (
        F.when(F.col("software_resets") > 0, "reset_by_older_version")
        .when(was_invalid, F.when(F.col("refused_names") > 0, "invalid_name").otherwise("invalid_request"))
        .when((outcome == "rejected_unsupported_version") | _is_version_with_name_refused(), "version_rejected")
        .when((outcome == "not_observed") & is_hidden, "not_logged")
        .when(outcome.isin("not_sent", "not_observed"), outcome)
        .when(F.col("software_after.software.name") == UNKNOWN, "version_without_name")
        .otherwise("not_logged")
    )


def _policy_columns(settings: Settings, name: Column, version: Column) -> Columns:
    """Return policy_verdicts, null on an exempt connection, and policy_verdict, the first of them or `allowed`."""
    if not settings.policy.judges:
        return {"policy_verdict": F.lit(None).cast("string")}
    can_be_known = _logs_names() & ~_is_version_with_name_refused()
    verdicts = policy_verdicts(settings.policy, name, version, F.coalesce("client_id", F.lit("")), can_be_known)
    first = F.coalesce(F.get(verdicts, F.lit(0)), F.lit("allowed"))
    return {
        "policy_verdicts": F.when(~is_exempt(settings), verdicts),
        "policy_verdict": F.when(is_exempt(settings), "exempt").otherwise(first),
    }


def _probable_columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library of connections without a name, by what each shows itself.

    A library is named only if all releases that behave as the connection's client does are its own (see the concern
    probable_library), and if the client has asked for something that a few lines by hand would not: scripts and scanners
    negotiate, or ask for metadata in the first versions. Brokers before 0.10 offer too little to tell libraries apart.

    Most libraries can be pinned to old versions by a setting, and then send what others send. 1,298 programs, pinned and
    not, were driven with four releases of Kafka. So no library is named without ApiVersions; Java's client only where it
    numbers a request before the connection's first one, as it does while it has no connection yet; kafka-go only where
    ApiVersions is not the first request; and KafkaJS only with a version that franz-go does not send if pinned to 2.0.

    A client id that a program chooses by default must not contradict, nor a name that was refused or reset. Where
    these do not let a library be named, an unknown one ends the candidates: at a broker of 3.9.1, a third of the lists of
    pinned programs lacked the right name.
    """
    words = F.concat_ws(" ", "handshake", "first_work", "second_work")
    beginning = F.when(F.col("handshake").isNotNull(), F.concat(F.lit("; begins with: "), words)).otherwise("")
    evidence = F.concat(F.lit("versions of its requests"), beginning)
    software = F.when(is_unknown & F.col("software_valid_by_broker").isNull(), _only_library())
    fitting = F.col("fitting_software")
    nothing = F.lit(None).cast("string")
    another = F.array(F.struct(F.lit(UNKNOWN).alias("software_name"), *(nothing.alias(bound) for bound in BOUNDS)))
    may_be_another = software.isNull() & (F.size(fitting) > 0)
    return {
        "candidate_software": F.when(is_unknown, F.when(may_be_another, F.concat(fitting, another)).otherwise(fitting)),
        "probable_software_name": software["software_name"],
        **{f"probable_{bound}": software[bound] for bound in BOUNDS},
        "probable_basis": F.when(software.isNotNull(), F.lit("connection")),
        "probable_evidence": F.when(software.isNotNull(), evidence),
    }


def _only_library() -> Column:
    """Return the library of all releases that fit; null if there are none, or those of several, or pinned ones may fit."""
    only = F.get("fitting_software", F.lit(0))
    handshake, name = F.coalesce("handshake", F.lit("none")), only["software_name"]
    is_sure = (
        F.when(name == "apache-kafka-java", handshake.contains("overtaken"))
        .when(name == "kafka-go", handshake.contains("later"))
        .when(name == "kafkajs", F.col("asks_after_2_0"))
        .otherwise(~handshake.startswith("none"))
    )
    client_id, chosen = F.substring(F.col("client_id"), 1, LONGEST_TEXT), F.lit(None).cast("string")
    programs = [(pattern, software) for software, patterns in _PROGRAMS.items() for pattern in patterns]
    for pattern, software in reversed(programs):
        chosen = F.when(client_id.rlike(rf"\A(?:{pattern})\z"), F.lit(software)).otherwise(chosen)
    is_named_so = F.coalesce(chosen == name, F.lit(True))
    is_one = F.col("is_telling") & (F.size("fitting_software") == 1)
    return F.when(is_one & (F.size("attempts") > 0) & is_sure & is_named_so, only)


def _contradicting_name(stated_name: Column, stated_version: Column) -> Column:
    """Return the library as which a client behaves that states another one, which never sends what it sent.

    Null if the stated release is not one of those that were there when libraries were measured: it may send anything.
    """
    library = stated_name
    for prefix, software in BINDINGS.items():
        library = F.when(stated_name.startswith(prefix), F.lit(software)).otherwise(library)
    known = constant_map({f"{one.software} {release}": "known" for one in libraries() for release in one.known})
    stated = F.concat_ws(" ", library, F.regexp_extract(stated_version, "^v?([0-9.]+)", 1))
    masks = constant_map({software: " ".join(map(str, words)) for software, words in words_by_library().items()})
    own = F.split(F.try_element_at(masks, library), " ").cast("array<bigint>")
    may_be = F.lit(False)
    for number in range(number_of_words()):
        may_be = may_be | (F.get("possible_senders", F.lit(number)).bitwiseAND(F.get(own, F.lit(number))) != 0)
    return F.when(F.try_element_at(known, stated).isNotNull() & ~may_be, _only_library()["software_name"])


def policy_verdicts(policy: Policy, name: Column, version: Column, client_id: Column, can_be_known: Column) -> Column:
    """Return every verdict of the policy on a client, the most important first; empty if the client is allowed.

    `can_be_known` is whether the broker accepts software names and the log shows them; else none can be demanded.
    """
    known = name != UNKNOWN
    allowed = [item for item, _ in policy.software]
    only_these = bool(allowed) and policy.other_software == "refused"
    minimum = looked_up(dict(policy.software), name)
    readable = version.rlike(VERSION)
    # Java's engine uses stack for each repetition of a group, so client ids are cut to the length that can match.
    beginning, is_short = F.substring(client_id, 1, LONGEST_TEXT), F.length(client_id) <= LONGEST_TEXT
    matches = [is_short & beginning.rlike(rf"\A(?:{pattern})\z") for pattern in policy.client_id_patterns]
    verdicts = {
        "software_unknown": ~known & F.lit(policy.unknown_software == "refused") & can_be_known,
        "software_not_allowed": known & ~name.isin(allowed) if only_these else F.lit(False),
        "version_unreadable": known & minimum.isNotNull() & ~readable,
        "version_too_old": readable & minimum.isNotNull() & (compared_versions(version, minimum) < 0),
        "client_id_not_allowed": ~any_of(matches) if matches else F.lit(False),
    }
    return F.array_compact(F.array(*(F.when(condition, F.lit(verdict)) for verdict, condition in verdicts.items())))


def compared_versions(version: Column, other: Column) -> Column:
    """Compare versions that are not null: below 0, 0 or above 0 if `version` is older, equal or newer than `other`.

    The order is Maven's, by Hadoop's VersionUtil. It recurses for each part of a version, so texts of clients are cut
    to a length that real versions don't reach.
    """
    return F.reflect(F.lit(_COMPARE[0]), F.lit(_COMPARE[1]), _for_maven(version), _for_maven(other)).cast("int")


def _for_maven(version: Column) -> Column:
    """Write a version as Maven orders it: without a leading v; pre-releases that Maven doesn't know become alphas."""
    plain = F.translate(F.substring(version, 1, _LONGEST_VERSION), ascii_uppercase + "_+~", ascii_lowercase + "---")
    return F.regexp_replace(F.regexp_replace(plain, r"^v", ""), r"[-.]?(?:dev|preview|pre|ea)(?![a-z])", "-alpha-")


def _of_text(part: str) -> RequestRule:
    """Return the rule on names or versions that brokers refuse; KIP-511 has INVALID_REQUEST only for what its own pattern does."""
    sent, is_invalid = f"sent_software_{part}", f"software_{part}_is_invalid"
    message = f"software {part} {{{sent}!r}}"
    return RequestRule(is_invalid, message, of_broker=lambda: ~_differs(sent, KIP_PATTERN_SQL))


REQUEST_RULES = {
    "invalid_software_name": _of_text("name"),
    "invalid_software_version": _of_text("version"),
    "software_name_reset": RequestRule(
        "software_is_reset", "ApiVersions v{api_version} after the name {known_software.name!r}"
    ),
    "software_name_changed": RequestRule(
        "software_is_changed",
        "{sent_software_name!r} {sent_software_version!r} after {known_software.name!r} {known_software.version!r}",
    ),
}


def connection_rules(settings: Settings) -> dict[str, ConnectionRule]:
    """Return the rules that judge a connection by the software at its end: how it behaves, and the policy."""
    software = sentence("software {client_software_name!r} {client_software_version!r}")
    found = _contradicting_name(F.col("client_software_name"), F.col("client_software_version"))
    behaves = F.concat(F.lit(" behaves as "), shown(found), sentence(", beginning with {handshake!r}"))
    # Through a proxy one client may have stated the name, and another behave so.
    is_one_client = ~F.coalesce("has_several_client_ids", F.lit(False))
    contradicted = ConnectionRule(found.isNotNull() & is_one_client, F.concat(software, behaves))
    return {"software_name_contradicted": contradicted, **_policy_rules(settings, software)}


def _policy_rules(settings: Settings, software: Column) -> dict[str, ConnectionRule]:
    if not settings.policy.judges:
        return {}
    client_id = sentence("client id {client_id!r}")
    return {
        rule: ConnectionRule(
            F.array_contains("policy_verdicts", verdict), client_id if verdict == "client_id_not_allowed" else software
        )
        for verdict, rule in _POLICY_RULES.items()
    }


CONCERN = Concern(
    name="client_software",
    reads=Reads(
        looked_back_at=("sent_software_name", "sent_software_version"),
        carried=("client_software_version",),
        made=reads,
    ),
    earlier=earlier,
    predicates=predicates,
    aggregates=aggregates,
    after=("api_versions", "client_id", "client_behaviour", "probable_library"),
    columns=columns,
    request_rules=REQUEST_RULES,
    connection_rules=connection_rules,
)
