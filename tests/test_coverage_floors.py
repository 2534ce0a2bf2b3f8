"""The gate of coverage names every file that falls short, and floors of files that are gone."""

from pathlib import Path

import coverage
import pytest

from tests import coverage_floors
from tests.coverage_floors import below


@pytest.mark.parametrize(
    ("found", "stated", "names"),
    [
        ({"a.py": 90.0, "b.py": 100.0}, {}, []),
        ({"a.py": 89.9, "b.py": 100.0}, {}, ["a.py"]),
        ({"a.py": 50.0}, {"a.py": 50.0}, []),
        ({"a.py": 94.0}, {"a.py": 95.0}, ["a.py"]),
        ({}, {"gone.py": 10.0}, ["gone.py"]),
    ],
)
def test_it_names_the_files_below_their_floors(
    found: dict[str, float], stated: dict[str, float], names: list[str]
) -> None:
    assert [line.partition(":")[0] for line in below(found, 90, stated)] == names


def test_it_reads_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage_floors, "ROOT", tmp_path)
    file = tmp_path / "half.py"
    file.write_text("a = 1\nif a:\n    b = 2\nelse:\n    b = 3\n    b = 4\n")
    data = coverage.CoverageData(str(tmp_path / "data"))
    data.add_lines({str(file): [1, 2, 3]})
    data.write()
    assert coverage_floors.measured([str(tmp_path / "data")]) == {"half.py": 60.0}
