"""The error in a response that a client should react to, and not send the same request again and again."""

from ...connections.concern import Columns
from ...connections.engine import F
from ...protocol import ErrorCode

NOT_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
"""A broker was asked for partitions that it does not lead, or that its client has other knowledge of."""
WRONG_BROKER = (
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.MISMATCHED_ENDPOINT_TYPE,
    ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)
"""A client meant another cluster or another broker."""
PERSISTENT = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)
"""Something else must change before the request can succeed: the topic, the rights, or what the client knows."""
WATCHED = tuple(map(int, (*NOT_LEADER, *WRONG_BROKER, *PERSISTENT)))


def reads() -> Columns:
    """Read the lowest watched error code of a response, its own or one of its entries; null if it has none."""
    codes = F.map_keys("errors")
    watched = F.array_min(F.filter(codes, lambda code: code.isin(*WATCHED)))
    return {"watched_error": F.when(F.size(codes) > 0, watched)}
