"""Files that hold several texts, each after a line with its name, as `######## name`."""

import re
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(rb"^######## (.+)\n", re.MULTILINE)


def sections(path: Path) -> dict[str, bytes]:
    """Return the texts of a file by their names."""
    _, *parts = _NAME.split(path.read_bytes())
    return {name.decode(): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def write_sections(path: Path, texts: Mapping[str, bytes]) -> None:
    path.write_bytes(b"".join(b"######## %s\n%s" % (name.encode(), text) for name, text in texts.items()))
