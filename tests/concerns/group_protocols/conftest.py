"""All groups of the tests in one log, which is judged once."""

from typing import Any

import pytest
from pyspark.sql import functions as F

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
from kafka_clientinfo.connections.judged import judged_requests
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from tests.concerns.cases import with_needed
from tests.concerns.group_protocols.groups import MISMATCH, NAMES, Found
from tests.concerns.group_protocols.messages import (
    in_group,
    message,
)
from tests.concerns.group_protocols.test_group_protocols import CASES
from tests.frames import as_stored, log


@pytest.fixture(scope="package")
def found(spark: Any) -> Found:
    """All cases in one log; each is a group, and a connection, of its own name."""
    rows = [in_group(row, name) for name, (messages, _) in CASES.items() for row in messages]
    rows += [in_group(row, name) for name, (messages, _) in NAMES.items() for row in messages]
    rows.append(in_group(MISMATCH, "mismatch"))
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    settings, needed = Settings(), with_needed("group_protocols")
    judged = judged_requests(*log(spark, rows), settings, needed).localCheckpoint()
    opened = connections(judged, settings, needed).withColumn("client_id", F.col("first.client_id")).localCheckpoint()
    messages = group_messages.transform(judged)
    memberships = group_memberships.transform(messages, judged, settings)
    derived = connection_groups.transform(messages, memberships, settings).localCheckpoint()
    of_connections = as_stored(derived, "connection_groups")
    groups = as_stored(group_protocols.transform(of_connections, opened), "group_protocols").localCheckpoint()
    conflicts = group_type_conflicts.transform(of_connections)
    findings = [findings_inconsistent(groups), findings_mixed_types(conflicts)]
    findings.append(findings_name_mismatch(derived, opened))
    broken = violations(judged, opened, findings, settings, needed).collect()
    return Found(
        {row["group_id"]: row.asDict(recursive=True) for row in groups.collect()},
        {(row["group_id"] or row["connection_id"], row["rule"]): row for row in broken},
    )
