"""Excerpts of a cluster run as in the field are read whole: every record is counted, and none but a banner is rejected."""

from pathlib import Path

import pytest

from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.settings import load_settings

EXCERPTS = Path(__file__).with_name("excerpts")
FOLDERS = sorted(path.name for path in EXCERPTS.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", FOLDERS)
def test_every_record_of_an_excerpt_is_read(name: str) -> None:
    reading = Reading([str(EXCERPTS / name)], load_settings(EXCERPTS / "settings.toml"), with_servers=True)
    kinds = [part.kind for part in reading.parts()]
    assert "request" in kinds
    assert not reading.problems
    assert sum(file["rejected"] for file in reading.files) == 0
    for file in reading.files:
        assert file["records"] == file["requests"] + file["rejected"] + sum(dict(file["ignored"]).values())
