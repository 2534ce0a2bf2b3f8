"""The policy for clients (conf/client_policy.toml) as column expressions over connections."""

from string import ascii_lowercase, ascii_uppercase

from ...config.patterns import LONGEST_TEXT
from ...config.policy import VERSION, Policy
from ...connections.engine import Column, F
from ...connections.texts import any_of, looked_up
from ...protocol import UNKNOWN

_COMPARE = ("org.apache.hadoop.util.VersionUtil", "compareVersions")
_LONGEST_VERSION = 64


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
    compare = F.reflect(F.lit(_COMPARE[0]), F.lit(_COMPARE[1]), _for_maven(version), _for_maven(other))
    return compare.cast("int")


def _for_maven(version: Column) -> Column:
    """Write a version as Maven orders it: without a leading v; pre-releases that Maven doesn't know become alphas."""
    plain = F.translate(F.substring(version, 1, _LONGEST_VERSION), ascii_uppercase + "_+~", ascii_lowercase + "---")
    return F.regexp_replace(F.regexp_replace(plain, r"^v", ""), r"[-.]?(?:dev|preview|pre|ea)(?![a-z])", "-alpha-")
