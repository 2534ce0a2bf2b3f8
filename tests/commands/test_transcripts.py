"""What each command prints, word for word and figure for figure; see tests/commands/transcripts.py."""

from pathlib import Path

import pytest

from tests.commands.transcripts import GOLDEN, REPORTS, ROOT, golden, names, transcript, warehouse
from tests.sections import sections


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("transcripts")
    warehouse(path)
    return path


@pytest.mark.parametrize("name", list(names()))
def test_it_prints_what_it_printed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in REPORTS:
        pytest.importorskip("vl_convert")
    monkeypatch.chdir(ROOT)
    assert transcript(folder, name) == golden(name)


def test_every_transcript_is_of_a_command() -> None:
    assert {name for path in GOLDEN.iterdir() for name in sections(path)} == set(names())
