"""Requests and logins that a broker refused, which only its server.log shows."""

from ...connections.concern import Concern
from . import broker_listeners, rules

CONCERN = Concern(
    name="failed_requests",
    findings=(rules.findings_refused,),
    transforms={
        "broker_listeners": broker_listeners.transform,
    },
)
