"""Reads the files that are shipped with the package, schemas/ and conf/; no other module does.

A wheel has both folders inside the package; a checkout has them beside it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def _folder(name: str) -> Traversable:
    inside = files("kafka_clientinfo") / name
    return inside if inside.is_dir() else Path(__file__).resolve().parent.parent / name


def schemas() -> Traversable:
    """Return the folder schemas/: messages/, tables/, broker_api_ranges/; a zipped wheel works too."""
    return _folder("schemas")


def conf() -> Traversable:
    return _folder("conf")


def enum_name(request: str) -> str:
    """Return the name in Kafka's ApiKeys of a request's schema: `API_VERSIONS` for `ApiVersionsRequest`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", request.removesuffix("Request")).upper()


def texts(folder: Traversable, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield name and UTF-8 text of each file in `folder` with this suffix, sorted by name."""
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_file() and entry.name.endswith(suffix):
            yield entry.name, entry.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def rules_digest() -> str:
    """Return a digest of the code and data that make rows of requests: between two releases, the version does not show a change."""
    package, data = files("kafka_clientinfo"), [schemas(), schemas() / "broker_api_ranges"]
    code = [*(package / name for name in ("connections", "coverage", "releases")), *_folders(package / "concerns")]
    parts = [
        *((folder, ".py") for folder in code),
        *((folder, suffix) for folder in data for suffix in (".toml", ".json")),
    ]
    all_text = "".join(text for folder, suffix in parts for _, text in texts(folder, suffix))
    return sha256(all_text.encode()).hexdigest()[:12]


def _folders(folder: Traversable) -> list[Traversable]:
    inner = sorted((item for item in folder.iterdir() if item.is_dir()), key=lambda item: item.name)
    return [folder, *(one for item in inner for one in _folders(item))]
