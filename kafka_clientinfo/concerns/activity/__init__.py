"""What clients do over time: how many requests, how long they take, with which errors; and how many connections."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import (
    client_activity,
    connection_storms,
    persistent_errors,
    possible_activity,
    predicates,
    request_floods,
    rules,
    throttled_clients,
    whole_periods,
)

CONCERN = Concern(
    name="activity",
    reads=Reads(made=predicates.reads),
    finders=(
        Finder(rules.findings_storms, rules.STORMS),
        Finder(rules.findings_floods, ("request_flood",)),
        Finder(rules.findings_throttled, ("throttled",)),
        Finder(rules.findings_errors, persistent_errors.RULES),
    ),
    transforms={
        "client_activity": client_activity.transform,
        "connection_storms": connection_storms.transform,
        "persistent_errors": persistent_errors.transform,
        "possible_activity": possible_activity.transform,
        "request_floods": request_floods.transform,
        "throttled_clients": throttled_clients.transform,
        "whole_periods": whole_periods.transform,
    },
    listed=dict.fromkeys(possible_activity.DEPENDENT, "possible_activity"),
)
