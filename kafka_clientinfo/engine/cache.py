"""The user's folder for what is fetched or made once and used by every session: Delta's jars, archives of classes."""

import os
from pathlib import Path

VARIABLE = "KAFKA_CLIENTINFO_CACHE"


def cache_folder() -> Path:
    """The folder: KAFKA_CLIENTINFO_CACHE, else kafka-clientinfo in $XDG_CACHE_HOME or ~/.cache; it may not exist yet."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(os.path.expanduser(given)).absolute()
    base = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    return base.absolute() / "kafka-clientinfo"
