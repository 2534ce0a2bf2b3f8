"""What a run did, and the stages that it went through."""

from dataclasses import dataclass, field
from typing import Any

from .console import Stages
from .ingestion.plan import Problem


@dataclass
class RunReport(Stages):
    """What a run did.

    Attributes:
        files: per file read: path, broker, what it held and what waits.
        unchanged: files without new bytes.
        problems: files passed over, and views that could not be made, with reasons.
        too_late: requests that were not kept, as retention had deleted the connections that they belong to.
        tables: rows per table after the run.
        seconds: time per stage.
    """

    files: list[dict[str, Any]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    too_late: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
