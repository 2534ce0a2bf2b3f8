"""The error in a response that a client should react to, and not send the same request again and again."""

from ...connections.concern import Columns
from ...connections.engine import F

NOT_LEADER = {
    "NOT_LEADER_OR_FOLLOWER": 6,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
}
"""A broker was asked for partitions that it does not lead, or that its client has other knowledge of."""
WRONG_BROKER = {
    "INCONSISTENT_CLUSTER_ID": 104,
    "MISMATCHED_ENDPOINT_TYPE": 114,
    "UNSUPPORTED_ENDPOINT_TYPE": 115,
    "REBOOTSTRAP_REQUIRED": 129,
}
"""A client meant another cluster or another broker."""
PERSISTENT = {
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "NOT_COORDINATOR": 16,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "CLUSTER_AUTHORIZATION_FAILED": 31,
    "NOT_CONTROLLER": 41,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": 53,
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": 65,
    "UNKNOWN_TOPIC_ID": 100,
    "INCONSISTENT_TOPIC_ID": 103,
}
"""Something else must change before the request can succeed: the topic, the rights, or what the client knows."""
WATCHED = {code: name for codes in (NOT_LEADER, WRONG_BROKER, PERSISTENT) for name, code in codes.items()}


def reads() -> Columns:
    """Read the lowest watched error code of a response, its own or one of its entries; null if it has none."""
    codes = F.map_keys("errors")
    watched = F.array_min(F.filter(codes, lambda code: code.isin(*WATCHED)))
    return {"watched_error": F.when(F.size(codes) > 0, watched)}
