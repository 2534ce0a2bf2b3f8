"""The policy for clients (conf/client_policy.toml) as column expressions over connections."""

from string import ascii_lowercase, ascii_uppercase

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...backtracking import LONGEST_TEXT
from ...connections.texts import any_of, looked_up
from ...policy import VERSION, Policy
from ...protocol import UNKNOWN

_COMPARE = ("org.apache.hadoop.util.VersionUtil", "compareVersions")
_LONGEST_VERSION = 64


def policy_verdicts(policy: Policy, name: Column, version: Column, client_id: Column, can_be_known: Column) -> Column:
    """Lists every verdict of the policy on a client, in the order in which they count; empty if it is allowed.

    `can_be_known` tells whether its broker takes and its log shows software names: else nobody can be asked for one.
    """
    known = name != UNKNOWN
    allowed = [item for item, _ in policy.software]
    only_these = bool(allowed) and policy.other_software == "refused"
    minimum = looked_up(dict(policy.software), name)
    readable = version.rlike(VERSION)
    # Java's engine needs stack for each repetition of a group, so it sees no more of a client id than can match.
    seen, is_short = F.substring(client_id, 1, LONGEST_TEXT), F.length(client_id) <= LONGEST_TEXT
    matches = [is_short & seen.rlike(rf"\A(?:{pattern})\z") for pattern in policy.client_id_patterns]
    deserved = {
        "software_unknown": ~known & F.lit(policy.unknown_software == "refused") & can_be_known,
        "software_not_allowed": known & ~name.isin(allowed) if only_these else F.lit(False),
        "version_unreadable": known & minimum.isNotNull() & ~readable,
        "version_too_old": readable & minimum.isNotNull() & (compared_versions(version, minimum) < 0),
        "client_id_not_allowed": ~any_of(matches) if matches else F.lit(False),
    }
    return F.array_compact(F.array(*(F.when(condition, F.lit(verdict)) for verdict, condition in deserved.items())))


def compared_versions(version: Column, other: Column) -> Column:
    """Compares versions: below 0, 0 or above 0, as `version` is older than, equal to or newer than `other`; neither is null.

    Maven's order of versions, by Hadoop's VersionUtil. It compares part by part, deep into a text of many parts: what
    clients send is cut to a length that real versions do not reach.
    """
    compare = F.reflect(F.lit(_COMPARE[0]), F.lit(_COMPARE[1]), _in_mavens_words(version), _in_mavens_words(other))
    return compare.cast("int")


def _in_mavens_words(version: Column) -> Column:
    """Writes a version in words that Maven orders: without a leading v; what stands before a release under a name that Maven does not know becomes an alpha."""
    plain = F.translate(F.substring(version, 1, _LONGEST_VERSION), ascii_uppercase + "_+~", ascii_lowercase + "---")
    return F.regexp_replace(F.regexp_replace(plain, r"^v", ""), r"[-.]?(?:dev|preview|pre|ea)(?![a-z])", "-alpha-")
