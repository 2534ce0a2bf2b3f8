"""All groups of the tests in one log, which is judged once."""

from typing import Any

import pytest

from tests.asking import asked
from tests.concerns.group_protocols.groups import MISMATCH, NAMES, SEVERAL, Found
from tests.concerns.group_protocols.messages import in_group, join, message
from tests.concerns.group_protocols.stored import stored
from tests.concerns.group_protocols.test_group_protocols import CASES
from tests.engines import collected


@pytest.fixture(scope="module")
def found(rules_session: Any) -> Found:
    """All cases in one log; each is a group, and a connection, of its own name."""
    sent = {name: case.requests for name, case in CASES.items()} | {name: of for name, (of, _) in NAMES.items()}
    rows = [in_group(row, name) for name, messages in sent.items() for row in messages]
    rows += [in_group(MISMATCH, "mismatch"), *(in_group(row, "several") for row in SEVERAL)]
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    member = in_group(join(0), "looks at its own group")
    own = [described[0] | {"groupId": member["connection_id"]}]
    describes = message(1, "DESCRIBE", 3, {"groups": [member["connection_id"]]}, {"groups": own})
    rows += [member, describes | {"connection_id": member["connection_id"]}]
    tables = stored(rules_session, rows)
    groups = asked(rules_session, "group_protocols", **tables)
    broken = asked(rules_session, "violations", **tables)
    return Found(
        {row["group_id"]: row.asDict(recursive=True) for row in collected(groups)},
        {(row["group_id"] or row["connection_id"], row["rule"]): row for row in collected(broken)},
    )
