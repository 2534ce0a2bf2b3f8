"""What holds of the software name that one ApiVersions request carries (KIP-511)."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections.boundaries import last_before
from ...connections.concern import Columns
from ...connections.judged import is_api_versions, is_api_versions_success
from ...connections.texts import body_text
from ...protocol import BROKER_PATTERN_SQL, FIRST_VERSION_WITH_SOFTWARE, KIP_PATTERN_SQL, UNKNOWN

LOOKS_BACK_AT = ("sent_software_name", "sent_software_version")


def reads() -> Columns:
    """Reads the version that an ApiVersions request carries beside the name."""
    return {
        "sent_software_version": F.when(is_api_versions(), body_text("request", "clientSoftwareVersion")),
    }


def earlier() -> Columns:
    """Looks for the software that the last accepted ApiVersions request before this one has made known."""
    return {"software_before": last_before(becomes(), is_api_versions_success())}


def predicates() -> Columns:
    """Judges an ApiVersions request: an invalid name or version, and what it does to the software that was known.

    2.4 takes names and logs none: there is nothing to lose, but a name can be followed by another one.
    """
    logged = F.when(
        F.col("client_software_name").isNotNull(), _software("client_software_name", "client_software_version")
    )
    known = F.coalesce(logged, F.col("software_before"))
    was_known = is_api_versions_success() & F.coalesce(known["name"] != UNKNOWN, F.lit(False))
    becomes_known = F.coalesce(becomes()["name"] != UNKNOWN, F.lit(False))
    return {
        "software_name_is_invalid": _differs("sent_software_name", BROKER_PATTERN_SQL),
        "software_version_is_invalid": _differs("sent_software_version", BROKER_PATTERN_SQL),
        "software_is_invalid_by_kip": _differs("sent_software_name", KIP_PATTERN_SQL)
        | _differs("sent_software_version", KIP_PATTERN_SQL),
        "software_is_reset": was_known & ~can_name() & logged.isNotNull(),
        "software_is_changed": was_known & becomes_known & (known != becomes()),
        "known_software": F.when(was_known, known),
    }


def _differs(name: str, pattern: str) -> Column:
    """Tells whether a text was sent and does not match."""
    return F.coalesce(~F.col(name).rlike(pattern), F.lit(False))


def can_name() -> Column:
    """Tells whether an ApiVersions request has fields for a software name."""
    return F.col("api_version") >= FIRST_VERSION_WITH_SOFTWARE


def becomes() -> Column:
    """Makes the software that the broker knows after an accepted ApiVersions request: v3 and later name, v0 to v2 reset."""
    unknown = F.struct(F.lit(UNKNOWN).alias("name"), F.lit(UNKNOWN).alias("version"))
    named = _software("sent_software_name", "sent_software_version")
    return F.when(is_api_versions_success(), F.when(can_name(), named).otherwise(unknown))


def _software(name: str, version: str) -> Column:
    return F.struct(
        F.coalesce(name, F.lit(UNKNOWN)).alias("name"), F.coalesce(version, F.lit(UNKNOWN)).alias("version")
    )
