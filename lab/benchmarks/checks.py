"""Compares what a way found, or what a warehouse holds, with what is known of the log; says what differs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .extraction import SUMS

CONNECTION_COLUMNS = (
    "role",
    "requests",
    "client_software_name",
    "client_software_version",
    "api_versions_outcome",
    "client_id_other",
)


def answer_problems(details: dict[str, Any], truth: dict[str, Any]) -> list[str]:
    """What is wrong with an extraction's sums."""
    answer = details.get("answer", {})
    if not answer:
        return ["it printed no answer"]
    found = [_differs(name, answer[name], truth[name]) for name in SUMS if name in answer and name in truth]
    if details.get("is same again") is False:
        found.append("the second reading found something else")
    return [problem for problem in found if problem]


def request_problems(table: Path, truths: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with a table of requests, written by whomever."""
    if any("requests" not in truth for truth in truths):
        return []
    return _some(_differs("requests", _rows(table), sum(truth["requests"] for truth in truths)))


def warehouse_problems(warehouse: Path, truths: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with the tables `requests` and `connections` after a run over made logs."""
    problems = request_problems(warehouse / "requests", truths)
    if any("connections" not in truth for truth in truths):
        return problems
    if not (warehouse / "connections").exists():
        return [*problems, "there is no table connections"]
    rows = _read(warehouse / "connections", CONNECTION_COLUMNS)
    clients = [row for row in rows if row["role"] == "client"]
    found = {
        "connections": len(clients),
        "requests": sum(row["requests"] for row in clients),
        "client_id_other": sum(row["client_id_other"] or 0 for row in clients),
        "connections_by_software": Counter(
            f"{row['client_software_name']} {row['client_software_version']}" for row in clients
        ),
        "api_versions_outcomes": Counter(row["api_versions_outcome"] for row in clients),
    }
    return problems + [
        problem
        for name, value in found.items()
        for problem in _some(_differs(f"connections: {name}", value, _sum(name, truths)))
    ]


def _sum(name: str, truths: Sequence[dict[str, Any]]) -> Any:
    values = [truth[name] for truth in truths]
    if isinstance(values[0], dict):
        return sum((Counter(value) for value in values), Counter())
    return sum(values)


def _differs(name: str, found: Any, wanted: Any) -> str | None:
    if isinstance(found, Counter):  # only what differs, or the text would be long
        other = [key for key in {**found, **wanted} if found[key] != wanted.get(key, 0)]
        found, wanted = ({key: counts.get(key, 0) for key in sorted(other)} for counts in (found, wanted))
    return None if found == wanted else f"{name}: found {found}, true is {wanted}"


def _some(problem: str | None) -> list[str]:
    return [problem] if problem else []


def _rows(table: Path) -> int:
    from deltalake import DeltaTable

    return int(DeltaTable(str(table)).to_pyarrow_dataset().count_rows())


def _read(table: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    from deltalake import DeltaTable

    return list(DeltaTable(str(table)).to_pyarrow_table(columns=list(columns)).to_pylist())
