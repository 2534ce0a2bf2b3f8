"""Error codes of Kafka's protocol that the package treats by name."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Codes under their names in Kafka's Errors enum."""

    NONE = 0
    INCONSISTENT_GROUP_PROTOCOL = 23
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
