"""All groups of the tests in one log, which is judged once."""

from typing import Any

import pytest

from kafka_clientinfo.concerns.group_protocols import (
    connection_groups,
    group_memberships,
    group_messages,
    group_protocols,
    group_type_conflicts,
)
from kafka_clientinfo.concerns.group_protocols.rules import (
    findings_inconsistent,
    findings_mixed_types,
    findings_name_mismatch,
)
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from tests.concerns.cases import with_needed
from tests.concerns.group_protocols.groups import MISMATCH, NAMES, SEVERAL, Found
from tests.concerns.group_protocols.messages import (
    in_group,
    join,
    message,
)
from tests.concerns.group_protocols.test_group_protocols import CASES
from tests.engines import collected, computed, on
from tests.frames import as_stored, judge_requests, log


@pytest.fixture(scope="module")
def found(rules_session: Any) -> Found:
    """All cases in one log; each is a group, and a connection, of its own name."""
    with on(rules_session):
        return found_on(rules_session)


def found_on(session: Any) -> Found:
    """Judge the log by the rules, which run on the session's engine."""
    rows = [in_group(row, name) for name, (messages, _) in CASES.items() for row in messages]
    rows += [in_group(row, name) for name, (messages, _) in NAMES.items() for row in messages]
    rows += [in_group(MISMATCH, "mismatch"), *(in_group(row, "several") for row in SEVERAL)]
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    member = in_group(join(0), "looks at its own group")
    own = [described[0] | {"groupId": member["connection_id"]}]
    describes = message(1, "DESCRIBE", 3, {"groups": [member["connection_id"]]}, {"groups": own})
    rows += [member, describes | {"connection_id": member["connection_id"]}]
    settings, needed = Settings(), with_needed("group_protocols")
    judged = computed(judge_requests(*log(session, rows), settings, needed))
    opened = computed(connections(judged, settings, needed).withColumn("client_id", F.col("first.client_id")))
    messages = group_messages.transform(judged)
    memberships = group_memberships.transform(messages, judged, settings)
    derived = computed(connection_groups.transform(messages, memberships, settings))
    of_connections = as_stored(derived, "connection_groups")
    groups = computed(as_stored(group_protocols.transform(of_connections, opened), "group_protocols"))
    conflicts = group_type_conflicts.transform(of_connections)
    findings = [findings_inconsistent(groups), findings_mixed_types(conflicts)]
    findings.append(findings_name_mismatch(derived, opened))
    broken = collected(violations(judged, opened, findings, settings, needed))
    return Found(
        {row["group_id"]: row.asDict(recursive=True) for row in collected(groups)},
        {(row["group_id"] or row["connection_id"], row["rule"]): row for row in broken},
    )
