"""Log records that clients forge inside the texts that they send."""

from ...connections.concern import Concern
from . import predicates, rules

CONCERN = Concern(
    name="log_forging",
    predicates=predicates.predicates,
    request_rules=rules.REQUEST_RULES,
)
