"""The mutants that are known to survive, of which `make mutants` makes the rest; and how that chooses changes and tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.mutants.explained import ROOT, explanations


def test_every_explanation_is_of_a_line_that_is_there() -> None:
    assert len({(one.file, one.before, one.after, one.part) for one in explanations()}) == len(explanations()) > 100


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("questions/impact.py", "number <= {limit}", "number < {limit}"),
        ("questions/impact.py", "SELECT min(rank)", "SELECT max(rank)"),
        ("concerns/usage/api_usage.py", 'F.min("first_at")', 'F.max("first_at")'),
        ("runs/late_files.py", "OVERLAP = timedelta(seconds=60)", "OVERLAP = timedelta(seconds=61)"),
        ("warehouse/warehouse.py", "tables.mend()", "pass"),
    ],
)
def test_it_changes_limits_functions_sql_and_calls(file: str, before: str, after: str) -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.changes import mutants_of

    changed = {mutant.difference() for mutant in mutants_of(ROOT / "kafka_clientinfo" / file)}
    assert any(
        before in left and right.replace(" ", "") == left.replace(before, after).replace(" ", "")
        for left, right in changed
    )


def test_rules_weigh_more_than_other_code() -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.changes import WEIGHTS, weight

    assert all((ROOT / "kafka_clientinfo" / name).exists() for name in WEIGHTS)
    assert weight("kafka_clientinfo/concerns/client_id.py") > weight("kafka_clientinfo/commands/text_tables.py") == 1


def test_what_tests_reach_is_kept_and_renewed_by_file() -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.reach import Reach, Test, by_file, merged, packed, unpacked

    one, other = frozenset({"tests/a.py::one"}), frozenset({"tests/b.py::other"})
    tests = {"tests/a.py::one": Test(1.5, frozenset({"spark"})), "tests/b.py::other": Test(0.25, frozenset())}
    old = Reach({"m.py": {1: one, 2: one | other, 3: frozenset()}}, tests, {"tests/a.py": 2.0})
    known = {"package": {"m.py": "x"}, "tests": {"tests/a.py": "y"}}
    assert unpacked(packed(old, known)) == (old, known)
    assert (old.cost(tests), old.fitting(tests, 3.0)) == (3.75, ["tests/b.py::other"])
    assert by_file(["b::1", "a::1", "b::2", "a::2"]) == ["b::1", "b::2", "a::1", "a::2"]
    new = Reach({"m.py": {3: frozenset({"tests/b.py::again"})}}, {"tests/b.py::again": Test(1.0, frozenset())}, {})
    renewed = merged(old, new)
    assert renewed.lines == {"m.py": {1: one, 2: one, 3: frozenset({"tests/b.py::again"})}}
    assert set(renewed.tests) == {"tests/a.py::one", "tests/b.py::again"}


def test_another_process_imports_the_mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mutant.json"
    errors = ROOT / "kafka_clientinfo" / "errors.py"
    text = errors.read_text("utf-8") + "\nCHANGED = True\n"
    file.write_text(json.dumps({"module": "kafka_clientinfo.errors", "path": str(errors), "text": text}))
    folders = [str(ROOT / "lab" / "mutants" / "in_children"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    program = "from kafka_clientinfo import errors; print(hasattr(errors, 'CHANGED'))"
    for variable, expected in (("KAFKA_CLIENTINFO_MUTANT", "True\n"), ("OTHER", "False\n")):
        environment = {**os.environ, variable: str(file)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == expected


def test_a_mark_names_the_tests_of_a_function_or_of_its_case() -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.by_statement import Item, named_by
    from tests.conformance import Mark

    file, cases = "tests/a.py", ("", "a case", "3-a case", "a case of another kind", "another-case")
    items = [Item(f"{file}::test_it[{case}]", file, "test_it", case, False) for case in cases]
    items.append(Item("tests/b.py::test_it[a case]", "tests/b.py", "test_it", "a case", False))
    mark = Mark("KIP-1", (1,), "a case", file, "test_it", True)
    assert [item.case for item in named_by(mark, items)] == ["a case", "3-a case"]
    assert [item.case for item in named_by(Mark("KIP-1", (1,), None, file, "test_it", True), items)] == [*cases]


def test_a_line_that_runs_once_as_its_function_is_cached_is_reached_by_all_that_call_it() -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.changes import Mutant
    from lab.mutants.reach import Reach, Test

    file, user = (
        "kafka_clientinfo/releases/broker_releases.py",
        "kafka_clientinfo/tables/views.py",
    )

    def line(of_file: str, text: str) -> int:
        lines = (ROOT / of_file).read_text("utf-8").splitlines()
        return next(number for number, one in enumerate(lines, 1) if text in one)

    first, other, third = (f"tests/logs/test_{name}.py::test" for name in ("bodies", "layouts", "compression"))
    lines = {
        file: dict.fromkeys((line(file, "features.toml"), line(file, 'data["needs"]')), frozenset({first})),
        user: {line(user, "for feature in features()"): frozenset({other})},
    }
    reach = Reach(lines, {name: Test(1.0, frozenset()) for name in (first, other, third)}, {})
    near, _ = reach.of(Mutant(file, line(file, 'data["needs"]'), 0, "", 0))
    assert near == {first, other}


def test_tests_that_use_a_rare_word_of_the_line_come_first() -> None:
    pytest.importorskip("cosmic_ray")
    from lab.mutants.changes import Mutant
    from lab.mutants.reach import Reach, Test

    file = "kafka_clientinfo/ingestion/worker.py"
    line = (ROOT / file).read_text("utf-8").splitlines().index("            -(-self.times.step_back // 1000),") + 1
    names = [
        f"tests/{name}.py::test" for name in ("test_cli", "ingestion/test_splits", "ingestion/test_worker_statistics")
    ]
    tests = {name: Test(float(cost), frozenset()) for cost, name in enumerate(names)}
    reach = Reach({file: {line: frozenset(names)}}, tests, {})
    assert reach.in_order(names, set(names), Mutant(file, line, 0, "", 0)) == [names[1], names[2], names[0]]
