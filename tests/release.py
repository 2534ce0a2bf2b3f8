"""Checks what a tag publishes and writes its notes: `TAG=v0.2.0 python -m tests.release dist`, as `make release` does.

CHANGELOG.md has one section per release, the newest first: `## [0.2.0] - 2026-12-01`, or `- unreleased` until then.
"""

import os
import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import Metadata

import kafka_clientinfo

ROOT = Path(__file__).resolve().parent.parent
NOTES = "release-notes.md"
_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\] - (?P<date>.+)$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Section:
    """What CHANGELOG.md says about one release."""

    version: str
    date: str
    text: str


def sections(changelog: str) -> list[Section]:
    """The releases of a changelog in its order."""
    headings = list(_HEADING.finditer(changelog))
    ends = [heading.start() for heading in headings[1:]] + [len(changelog)]
    return [
        Section(heading["version"], heading["date"], changelog[heading.end() : end].strip() + "\n")
        for heading, end in zip(headings, ends, strict=True)
    ]


def metadata(package: Path) -> Metadata:
    """The metadata of a wheel or a source archive.

    Raises:
        ExceptionGroup: it breaks the rules of Python's core metadata.
    """
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            (name,) = (name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            return Metadata.from_email(wheel.read(name), validate=True)
    with tarfile.open(package) as archive:
        (member,) = (member for member in archive if re.fullmatch(r"[^/]+/PKG-INFO", member.name))
        content = archive.extractfile(member)
        assert content is not None
        return Metadata.from_email(content.read(), validate=True)


def problems_of_the_source(tag: str, version: str, newest: Section, urls: Mapping[str, str]) -> list[str]:
    """What keeps a commit from being released under a tag, in sentences."""
    problems = []
    if tag != f"v{version}":
        problems.append(f"the tag is {tag}, but kafka_clientinfo.__version__ is {version}; the tag must be v{version}")
    if newest.version != version:
        problems.append(f"the newest section of CHANGELOG.md is {newest.version}, but the version is {version}")
    if not _DATE.fullmatch(newest.date):
        problems.append(f"CHANGELOG.md has {newest.date!r} in place of the day on which {newest.version} is released")
    if not urls:
        problems.append("pyproject.toml has no [project.urls]; name the repository there, as CONTRIBUTING.md says")
    return problems


def problems_of_the_packages(dist: Path, version: str) -> list[str]:
    """What is wrong with the source archive and the wheel, in sentences."""
    packages = sorted([*dist.glob("*.whl"), *dist.glob("*.tar.gz")])
    wanted = [f"kafka_clientinfo-{version}-py3-none-any.whl", f"kafka_clientinfo-{version}.tar.gz"]
    if [package.name for package in packages] != wanted:
        names = ", ".join(package.name for package in packages) or "no package"
        return [f"{dist} has {names}; it must have {' and '.join(wanted)} only"]
    problems = []
    for package in packages:
        try:
            found = metadata(package)
        except ExceptionGroup as group:
            problems += [f"{package.name}: {error}" for error in group.exceptions]
            continue
        if (found.name, str(found.version)) != ("kafka-clientinfo", version):
            problems.append(f"{package.name} says that it is {found.name} {found.version}")
        if found.description_content_type != "text/markdown" or not found.description:
            problems.append(f"{package.name} has no description in Markdown")
    return problems


def main(dist: Path) -> int:
    """Check the tag in TAG and the packages; write the notes if nothing is wrong."""
    version = kafka_clientinfo.__version__
    newest = sections((ROOT / "CHANGELOG.md").read_text("utf-8"))[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    problems = problems_of_the_source(os.environ.get("TAG") or "(not in TAG)", version, newest, project.get("urls", {}))
    problems += problems_of_the_packages(dist, version)
    for problem in problems:
        print(f"release: {problem}", file=sys.stderr)
    if not problems:
        (dist / NOTES).write_text(newest.text, "utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
