"""Requests and logins that a broker refused, which only its server.log shows."""

from ...connections.concern import Concern, Finder
from . import broker_listeners, rules

CONCERN = Concern(
    name="failed_requests",
    finders=(Finder(rules.findings_refused, rules.RULES, outlast_retention=True),),
    transforms={
        "broker_listeners": broker_listeners.transform,
    },
)
