"""The regular expressions of a policy or a file of owners, which match whole texts that clients wrote.

Python checks them; Spark runs those of a policy in Java, and DuckDB in RE2.
"""

import re

from ..errors import ConfigError

LONGEST_TEXT = 255
"""The most characters of a client's text that a pattern may see; a longer text matches no pattern."""


def check_pattern(pattern: str, where: str) -> None:
    """Refuse a pattern that does not compile, with a ConfigError that names it, and the file and key (`where`)."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{where}: {pattern!r} is no regular expression: {error}") from None
