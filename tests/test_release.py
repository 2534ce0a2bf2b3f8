"""One version everywhere, a changelog per release, and a check that refuses what must not be published."""

import io
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import kafka_clientinfo

from . import release
from .release import Section

ROOT = Path(__file__).resolve().parent.parent
VERSION = kafka_clientinfo.__version__
READY = Section("1.2.0", "2026-12-01", "text\n")
URLS = {"Repository": "https://example.org/kafka_clientinfo"}


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_newest_section_of_the_changelog_is_that_of_the_version() -> None:
    headings = re.findall(r"^## .*$", text("CHANGELOG.md"), re.MULTILINE)
    sections = release.sections(text("CHANGELOG.md"))
    assert [f"## [{one.version}] - {one.date}" for one in sections] == headings
    assert sections[0].version == VERSION
    assert len({one.version for one in sections}) == len(sections)


def test_older_sections_of_the_changelog_say_when_they_were_released() -> None:
    older = release.sections(text("CHANGELOG.md"))[1:]
    assert older
    assert [one.version for one in older if not re.fullmatch(r"\d{4}-\d{2}-\d{2}|not released", one.date)] == []


def test_every_page_that_names_a_release_of_this_package_names_this_one() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*"),
        ROOT / "Containerfile",
    ]
    pages += (ROOT / ".github").rglob("*.*")
    named = {
        (page.relative_to(ROOT).as_posix(), found)
        for page in pages
        # the figures were measured with the releases that they name
        if page.is_file() and page.name not in ("benchmarks.md", "CHANGELOG.md")
        for found in re.findall(r"kafka[_-]clientinfo[-: ]v?(\d+\.\d+\.\d+)", page.read_text("utf-8"))
    }
    assert len(named) > 3
    assert {found for _, found in named} == {VERSION}


def test_the_security_policy_names_the_newest_minor_release() -> None:
    assert f"at present that is {'.'.join(VERSION.split('.')[:2])}.\n" in text("SECURITY.md")


def test_the_citation_is_of_this_release_and_licence() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert (citation["version"], citation["license"]) == (VERSION, project["license"])
    assert citation["authors"] == project["authors"]


def test_the_repository_has_one_address() -> None:
    """None is known yet; when it is, it stands in all three places, and `make release` asks for it."""
    site = yaml.safe_load(text("mkdocs.yml").replace("!!python", "python"))
    urls = tomllib.loads(text("pyproject.toml"))["project"].get("urls", {})
    addresses = [
        urls.get("Repository"),
        site.get("repo_url"),
        yaml.safe_load(text("CITATION.cff")).get("repository-code"),
    ]
    assert len(set(addresses)) == 1
    assert urls.get("Documentation") == site.get("site_url")


@pytest.mark.parametrize(
    ("tag", "version", "newest", "urls", "problems"),
    [
        ("v1.2.0", "1.2.0", READY, URLS, []),
        ("v1.2.1", "1.2.0", READY, URLS, ["the tag is v1.2.1, .* the tag must be v1.2.0"]),
        ("1.2.0", "1.2.0", READY, URLS, ["the tag is 1.2.0"]),
        ("v1.3.0", "1.3.0", READY, URLS, ["the newest section of CHANGELOG.md is 1.2.0"]),
        ("v1.2.0", "1.2.0", Section("1.2.0", "unreleased", ""), URLS, ["'unreleased' in place of the day"]),
        ("v1.2.0", "1.2.0", READY, {}, [r"has no \[project.urls\]"]),
    ],
)
def test_a_tag_is_refused_that_the_source_does_not_match(
    tag: str, version: str, newest: Section, urls: dict[str, str], problems: list[str]
) -> None:
    found = release.problems_of_the_source(tag, version, newest, urls)
    assert len(found) == len(problems)
    assert all(re.search(pattern, problem) for pattern, problem in zip(problems, found, strict=True))


HEADER = "Metadata-Version: 2.4\nName: kafka-clientinfo\nVersion: {version}\nDescription-Content-Type: text/markdown\n\n# Text"


def packages(dist: Path, version: str = "1.2.0", of_wheel: str = HEADER, of_source: str = HEADER) -> Path:
    dist.mkdir()
    with zipfile.ZipFile(dist / f"kafka_clientinfo-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"kafka_clientinfo-{version}.dist-info/METADATA", of_wheel.format(version=version))
    content = of_source.format(version=version).encode()
    with tarfile.open(dist / f"kafka_clientinfo-{version}.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(f"kafka_clientinfo-{version}/PKG-INFO")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return dist


def test_packages_of_the_version_are_accepted(tmp_path: Path) -> None:
    assert release.problems_of_the_packages(packages(tmp_path / "dist"), "1.2.0") == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"of_wheel": HEADER.replace("{version}", "1.1.0")}, r"\.whl says that it is kafka-clientinfo 1\.1\.0"),
        ({"of_source": HEADER.replace("kafka-clientinfo", "other")}, r"\.tar\.gz says that it is other 1\.2\.0"),
        (
            {"of_source": HEADER.replace("markdown", "odd")},
            r"\.tar\.gz: 'description-content-type' must be one of .*, not 'text/odd'",
        ),
        ({"of_wheel": HEADER.replace("text/markdown", "text/plain")}, r"\.whl has no description in Markdown"),
        (
            {"version": "1.3.0"},
            r"dist has kafka_clientinfo-1\.3\.0-py3-none-any\.whl, .* must have .*-1\.2\.0\.tar\.gz only",
        ),
    ],
)
def test_packages_that_say_something_else_are_refused(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    (problem,) = release.problems_of_the_packages(packages(tmp_path / "dist", **changed), "1.2.0")
    assert re.search(said, problem)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (problem,) = release.problems_of_the_packages(tmp_path, "1.2.0")
    assert "has no package; it must have" in problem


def test_the_notes_are_the_section_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "# Changelog\n\nAll.\n\n"
    changelog = (
        head + f"## [{VERSION}] - 2026-12-01\n\n### Added\n- New.\n\n## [0.0.1] - 2026-01-01\n\n### Added\n- Old.\n"
    )
    (tmp_path / "CHANGELOG.md").write_text(changelog, "utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nurls = { Repository = "https://example.org" }\n', "utf-8")
    dist = packages(tmp_path / "dist", VERSION)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setenv("TAG", "v9")
    assert release.main(dist) == 1
    assert not (dist / release.NOTES).exists()
    monkeypatch.setenv("TAG", f"v{VERSION}")
    assert release.main(dist) == 0
    assert (dist / release.NOTES).read_text("utf-8") == "### Added\n- New.\n"


def test_the_release_is_made_of_the_packages_with_the_notes(tmp_path: Path) -> None:
    """With a stand-in for `gh` that prints its arguments."""
    root = tmp_path / "clone"
    (root / ".ci").mkdir(parents=True)
    (root / ".ci" / "publish").write_bytes((ROOT / ".ci" / "publish").read_bytes())
    packages(root / "dist")
    (root / "dist" / "sbom.cdx.json").touch()
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', "utf-8")
    gh.chmod(0o755)

    def publish(**environment: str) -> subprocess.CompletedProcess[str]:
        path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        command = ["bash", root / ".ci" / "publish"]
        return subprocess.run(command, env=path | environment, capture_output=True, text=True, check=False)

    assert publish(TAG="v1.2.0").stdout.splitlines() == [
        *("release", "create", "v1.2.0"),
        *("dist/kafka_clientinfo-1.2.0-py3-none-any.whl", "dist/kafka_clientinfo-1.2.0.tar.gz", "dist/sbom.cdx.json"),
        *("--verify-tag", "--title", "v1.2.0", "--notes-file", "dist/release-notes.md"),
    ]
    without = publish()
    assert (without.returncode, without.stdout) == (1, "")
    assert "TAG: names the tag" in without.stderr
