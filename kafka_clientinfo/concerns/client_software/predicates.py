"""Predicates on the software name and version that an ApiVersions request states (KIP-511)."""

from collections.abc import Mapping

from ...connections.boundaries import LookBack, last_before
from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.judged import is_api_versions_success
from ...connections.request_columns import is_api_versions
from ...connections.texts import body_text
from ...protocol import BROKER_PATTERN_SQL, FIRST_VERSION_WITH_SOFTWARE, KIP_PATTERN_SQL, UNKNOWN


def reads() -> Columns:
    """Read the software version that an ApiVersions request states."""
    return {
        "sent_software_version": F.when(is_api_versions(), body_text("request", "clientSoftwareVersion")),
    }


def earlier() -> Mapping[str, LookBack]:
    """Take the software that the broker knew after the last accepted ApiVersions request before this one."""
    return {"software_before": last_before(software_after(), is_api_versions_success())}


def predicates() -> Columns:
    """Judge an ApiVersions request: an invalid name or version, and how it changes the software that the broker knew.

    2.4 accepts names without logging them, so a reset does no harm there, but a change of the name counts.
    """
    logged = F.when(
        F.col("client_software_name").isNotNull(), _software("client_software_name", "client_software_version")
    )
    known = F.coalesce(logged, F.col("software_before"))
    was_known = is_api_versions_success() & F.coalesce(known["name"] != UNKNOWN, F.lit(False))
    becomes_known = F.coalesce(software_after()["name"] != UNKNOWN, F.lit(False))
    return {
        "software_name_is_invalid": _differs("sent_software_name", BROKER_PATTERN_SQL),
        "software_version_is_invalid": _differs("sent_software_version", BROKER_PATTERN_SQL),
        "software_is_invalid_by_kip": _differs("sent_software_name", KIP_PATTERN_SQL)
        | _differs("sent_software_version", KIP_PATTERN_SQL),
        "software_is_reset": was_known & ~can_name() & logged.isNotNull(),
        "software_is_changed": was_known & becomes_known & (known != software_after()),
        "known_software": F.when(was_known, known),
    }


def _differs(name: str, pattern: str) -> Column:
    """Return whether a text was sent and does not match."""
    return F.coalesce(~F.col(name).rlike(pattern), F.lit(False))


def can_name() -> Column:
    """Return whether an ApiVersions request has fields for a software name."""
    return F.col("api_version") >= FIRST_VERSION_WITH_SOFTWARE


def software_after() -> Column:
    """Return the software that the broker knows after an accepted ApiVersions request; null for other requests.

    From v3 on a request names the software; v0 to v2 reset it to unknown.
    """
    unknown = F.struct(F.lit(UNKNOWN).alias("name"), F.lit(UNKNOWN).alias("version"))
    named = _software("sent_software_name", "sent_software_version")
    return F.when(is_api_versions_success(), F.when(can_name(), named).otherwise(unknown))


def _software(name: str, version: str) -> Column:
    return F.struct(
        F.coalesce(name, F.lit(UNKNOWN)).alias("name"), F.coalesce(version, F.lit(UNKNOWN)).alias("version")
    )
