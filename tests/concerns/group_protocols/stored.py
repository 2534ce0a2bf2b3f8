"""What a run stores of the groups in a log."""

from collections.abc import Sequence
from typing import Any

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.concerns.group_protocols import connection_groups, group_memberships, group_messages
from kafka_clientinfo.concerns.group_protocols.rules import findings_name_mismatch
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from tests.concerns.cases import with_needed
from tests.engines import computed, on
from tests.frames import as_stored, judge_requests, log


def stored(session: Any, requests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The tables `connection_groups` and `connection_violations`, the latter by the rules on groups alone."""
    settings = Settings()
    with on(session):
        judged = computed(judge_requests(*log(session, requests), settings, concerns()))
        opened = computed(connections(judged, settings, concerns()))
        messages = group_messages.transform(judged)
        memberships = group_memberships.transform(messages, judged, settings)
        groups = computed(connection_groups.transform(messages, memberships, opened, settings))
        broken = violations(judged, opened, [findings_name_mismatch(groups)], settings, with_needed("group_protocols"))
        return {
            "connection_groups": as_stored(groups, "connection_groups"),
            "connection_violations": as_stored(broken, "connection_violations"),
        }
