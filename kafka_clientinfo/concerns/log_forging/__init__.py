"""Log records that clients forge inside the texts that they send."""

from ...connections.concern import Concern, Reads
from . import rules

CONCERN = Concern(
    name="log_forging",
    reads=Reads(carried=("forged_lines",)),
    predicates=rules.predicates,
    request_rules=rules.REQUEST_RULES,
)
