"""Groups of APIs by Kafka's names."""

from ..protocol import api_names

_KEYS = {name: key for key, name in api_names().items()}


def _keys(names: str) -> frozenset[int]:
    return frozenset(_KEYS[name] for name in names.split())


REPLICA_APIS = _keys("FETCH LIST_OFFSETS")
"""APIs whose requests name the replica that sends them."""

CONTROL_APIS = _keys(
    """API_VERSIONS SASL_HANDSHAKE FIND_COORDINATOR JOIN_GROUP SYNC_GROUP LEAVE_GROUP HEARTBEAT DESCRIBE_GROUPS
    DELETE_GROUPS OFFSET_DELETE CONSUMER_GROUP_HEARTBEAT SHARE_GROUP_HEARTBEAT STREAMS_GROUP_HEARTBEAT
    GET_TELEMETRY_SUBSCRIPTIONS PUSH_TELEMETRY"""
)
"""APIs whose bodies are kept, as negotiation, groups and telemetry are derived from them.

SaslAuthenticate is left out on purpose, as its body holds credentials."""

INTER_BROKER_APIS = _keys(
    """LEADER_AND_ISR STOP_REPLICA UPDATE_METADATA CONTROLLED_SHUTDOWN WRITE_TXN_MARKERS VOTE BEGIN_QUORUM_EPOCH
    END_QUORUM_EPOCH ALTER_PARTITION ENVELOPE FETCH_SNAPSHOT BROKER_REGISTRATION BROKER_HEARTBEAT
    ALLOCATE_PRODUCER_IDS CONTROLLER_REGISTRATION ASSIGN_REPLICAS_TO_DIRS UPDATE_RAFT_VOTER
    INITIALIZE_SHARE_GROUP_STATE READ_SHARE_GROUP_STATE WRITE_SHARE_GROUP_STATE DELETE_SHARE_GROUP_STATE
    READ_SHARE_GROUP_STATE_SUMMARY"""
)
"""APIs that brokers and controllers send to each other."""
