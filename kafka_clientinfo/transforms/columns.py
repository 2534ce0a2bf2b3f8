"""Column expressions that several transforms share; no DataFrame in here."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..policy import VERSION, Policy

API_VERSIONS = 18
SASL_HANDSHAKE = 17
UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42
UNKNOWN = "unknown"
ZERO_UUID = "A" * 22
"""Kafka's zero Uuid in base64url: not an instance id (KIP-1313)."""

BROKER_CLIENT_ID = r"^(\d+|broker-\d+-.+|raft-client-\d+|AddPartitionsManager-client-\d+|Persister-client-\d+|id_\d+-host_.*-port_\d+)$"
"""Client ids that Kafka's own senders use; a client id alone is no proof of a broker."""

API_VERSIONS_ANSWER = "apiKeys array<struct<apiKey:int,minVersion:int,maxVersion:int>>"
"""What is read of an ApiVersions response's JSON."""

LISTED = 20
"""How many distinct texts a list column keeps."""


def body_text(body: str, name: str) -> Column:
    """A top-level text of a JSON body."""
    return F.get_json_object(F.col(body), f"$.{name}")


def is_api_versions_success() -> Column:
    """An ApiVersions request that was accepted."""
    return (F.col("api_key") == API_VERSIONS) & (api_versions_error() == 0)


def api_versions_error() -> Column:
    """Error code of an ApiVersions request; inferred from the release where no response is logged.

    0.10 answers v0 only and 0.11 v0 and v1 (KIP-35); 0.11 is told by its throttle time.
    """
    highest = F.when(F.col("throttle_time_ms").isNull(), F.lit(0)).otherwise(F.lit(1))
    inferred = F.when(F.col("api_version") > highest, F.lit(UNSUPPORTED_VERSION)).otherwise(F.lit(0))
    return F.when(F.col("log_generation") == "api_key_struct", inferred).otherwise(F.col("error_code"))


def has_header_v3() -> Column:
    """A request whose header can carry a client instance id (KIP-1313)."""
    return F.coalesce(F.col("header_version") >= 3, F.lit(False))


def has_instance_id() -> Column:
    """A client instance id that is not zero."""
    return F.coalesce(F.col("client_instance_id") != ZERO_UUID, F.lit(False))


def api_name_of(key: Column, names: Mapping[int, str]) -> Column:
    """The name of an API key; null for a key without one."""
    pairs = [F.lit(part) for pair in names.items() for part in pair]
    return F.try_element_at(F.create_map(*pairs), key)


def sorted_texts(values: Column) -> Column:
    """The distinct non-null texts of a group, sorted, the first `LISTED`."""
    return F.slice(F.array_sort(F.collect_set(values)), 1, LISTED)


def shown(value: Column, length: int = 80) -> Column:
    """A text for a message: quoted, cut, and without characters that could move a terminal's cursor or break a line."""
    text = F.coalesce(F.regexp_replace(value, r"[\p{C}\p{Zl}\p{Zp}]", "\N{REPLACEMENT CHARACTER}"), F.lit("null"))
    cut = F.when(F.length(text) > length, F.concat(F.substring(text, 1, length), F.lit("…"))).otherwise(text)
    return F.concat(F.lit("'"), cut, F.lit("'"))


EXAMPLE = ("logged_at", "correlation_id", "grep")
"""Fields of an example: enough to find its record in the log."""


def grep_pattern(log_zone: str) -> Column:
    """An extended regular expression for a request: its time in the log's zone, and its correlation id."""
    local = F.from_utc_timestamp("logged_at", log_zone)
    time = F.concat(
        F.lit(r"^\["), F.date_format(local, "yyyy-MM-dd HH:mm:ss,SSS"), F.lit(r"\] [A-Z]+ Completed request:")
    )
    number = F.col("correlation_id").cast("string")
    # A client id with a newline puts the correlation id on a later line, where this expression cannot reach it.
    one_line = ~F.coalesce(F.col("client_id").contains("\n"), F.lit(False))
    generation = F.col("log_generation")
    return F.concat(
        time,
        F.when(generation == "json", F.concat(F.lit('.*"correlationId":'), number, F.lit(",")))
        .when(
            one_line & (generation == "request_header_struct"),
            F.concat(F.lit(".*correlationId="), number, F.lit(r"\)")),
        )
        .when(generation == "api_key_struct", F.concat(F.lit(".*correlation_id="), number, F.lit(",")))
        .when(generation == "name_text", F.concat(F.lit(".*CorrelationId: ?"), number, F.lit(";")))
        .otherwise(F.lit("")),
    )


def merged_texts(lists: Column, limit: int = LISTED) -> Column:
    """The union of a group's lists of texts, sorted, the first `limit`."""
    return F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list(lists)))), 1, limit)


_HEX_UUID = r"^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"


def uuid_bits(text: Column) -> Column:
    """The 128 bits of an id in upper-case hex, whether written in hex, base64 or base64url; null for other texts."""
    base64 = F.translate(F.rtrim(F.translate(text, "=", " ")), "-_", "+/")
    is_base64 = base64.rlike("^[A-Za-z0-9+/]{22}$")
    return F.when(text.rlike(_HEX_UUID), F.upper(F.translate(text, "-", ""))).when(
        is_base64, F.hex(F.unbase64(F.concat(base64, F.lit("=="))))
    )


def policy_findings(policy: Policy, name: Column, version: Column, client_id: Column) -> dict[str, Column]:
    """Verdict to whether a client deserves it; none is null. The first that holds is the client's verdict."""
    known = name != UNKNOWN
    allowed = [item for item, _ in policy.software]
    only_these = bool(allowed) and policy.other_software == "refused"
    minimum = _by_name(name, {item: low for item, low in policy.software if low is not None})
    readable = version.rlike(VERSION)
    matches = [client_id.rlike(rf"\A(?:{pattern})\z") for pattern in policy.client_id_patterns]
    found = {
        "software_unknown": ~known & F.lit(policy.unknown_software == "refused"),
        "software_not_allowed": known & ~name.isin(allowed) if only_these else F.lit(False),
        "version_unreadable": known & minimum.isNotNull() & ~readable,
        "version_too_old": readable & minimum.isNotNull() & (compared_versions(version, minimum) < 0),
        "client_id_not_allowed": ~reduce(or_, matches) if matches else F.lit(False),
    }
    return {verdict: F.coalesce(condition, F.lit(False)) for verdict, condition in found.items()}


def _by_name(name: Column, minimums: dict[str, str]) -> Column:
    """The minimum version for a software name, null where there is none."""
    chosen = F.lit(None).cast("string")
    for item, low in minimums.items():
        chosen = F.when(name == item, F.lit(low)).otherwise(chosen)
    return chosen


def compared_versions(version: Column, other: Column) -> Column:
    """Below 0, 0 or above 0, as `version` is older than, equal to or newer than `other`; neither is null.

    Maven's order of versions, by Hadoop's VersionUtil. It compares part by part, deep into a text of many parts: what
    clients send is cut to a length that real versions do not reach.
    """
    compare = F.reflect(F.lit(_COMPARE[0]), F.lit(_COMPARE[1]), _in_mavens_words(version), _in_mavens_words(other))
    return compare.cast("int")


_COMPARE = ("org.apache.hadoop.util.VersionUtil", "compareVersions")
_LONGEST_VERSION = 64


def _in_mavens_words(version: Column) -> Column:
    """Without a leading v; what stands before a release under a name that Maven does not know becomes an alpha."""
    plain = F.regexp_replace(F.substring(F.lower(version), 1, _LONGEST_VERSION), r"^v", "")
    return F.regexp_replace(F.translate(plain, "_+~", "---"), r"[-.]?(?:dev|preview|pre|ea)(?![a-z])", "-alpha-")
