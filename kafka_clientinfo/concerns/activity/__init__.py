"""What clients do over time: how many requests, how long they take, with which errors."""

from ...connections.concern import Concern, Reads
from . import client_activity_parts, persistent_errors, rules

CONCERN = Concern(
    name="activity",
    reads=Reads(made=rules.reads),
    finders=(rules.findings_errors,),
    transforms={
        "client_activity_parts": client_activity_parts.transform,
        "persistent_errors": persistent_errors.transform,
    },
)
