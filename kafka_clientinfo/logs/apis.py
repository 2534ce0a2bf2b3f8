"""Groups of APIs by Kafka's names."""

from ..protocol import api_names

_KEYS = {name: key for key, name in api_names().items()}


def _keys(names: str) -> frozenset[int]:
    return frozenset(_KEYS[name] for name in names.split())


SASL_APIS = ("SASL_HANDSHAKE", "SASL_AUTHENTICATE")

REPLICA_APIS = _keys("FETCH LIST_OFFSETS")
"""APIs with a replica id in their requests, which shows that a broker sent them."""

CONTROL_APIS = _keys(
    """API_VERSIONS SASL_HANDSHAKE FIND_COORDINATOR JOIN_GROUP SYNC_GROUP LEAVE_GROUP HEARTBEAT DESCRIBE_GROUPS
    DELETE_GROUPS OFFSET_DELETE CONSUMER_GROUP_HEARTBEAT SHARE_GROUP_HEARTBEAT STREAMS_GROUP_HEARTBEAT
    GET_TELEMETRY_SUBSCRIPTIONS PUSH_TELEMETRY"""
)
"""APIs for which the table `requests` keeps the bodies; negotiation, groups and telemetry are derived from them.

SaslAuthenticate is not one of them, because its body holds credentials."""

TOPIC_OPERATIONS = {
    key: operation
    for operation, names in {
        "produce": "PRODUCE",
        "fetch": "FETCH SHARE_FETCH",
        "commit": "OFFSET_COMMIT TXN_OFFSET_COMMIT SHARE_ACKNOWLEDGE",
        "administer": """CREATE_TOPICS DELETE_TOPICS CREATE_PARTITIONS DELETE_RECORDS ELECT_LEADERS
            ALTER_PARTITION_REASSIGNMENTS ALTER_CONFIGS INCREMENTAL_ALTER_CONFIGS""",
    }.items()
    for key in _keys(names)
}
"""What the requests of an API do with the topics that they name, by API key.

A follower's Fetch counts as replicate (see `ingestion.topic_mentions`), and the APIs of configs count only where they
name a topic."""

NAMING_APIS = _keys(
    """METADATA DESCRIBE_TOPIC_PARTITIONS CONSUMER_GROUP_DESCRIBE SHARE_GROUP_DESCRIBE DESCRIBE_SHARE_GROUP_OFFSETS"""
)
"""APIs with answers that show which topics exist, and their ids (KIP-516), and that use none."""

TOPIC_APIS = frozenset(TOPIC_OPERATIONS) | NAMING_APIS

LOGGER_API = _KEYS["INCREMENTAL_ALTER_CONFIGS"]
"""The API that sets the levels of a broker's loggers. Its response is kept if it names loggers; other bodies are
not, because they can hold passwords."""

INTER_BROKER_APIS = _keys(
    """LEADER_AND_ISR STOP_REPLICA UPDATE_METADATA CONTROLLED_SHUTDOWN VOTE BEGIN_QUORUM_EPOCH END_QUORUM_EPOCH
    ALTER_PARTITION ENVELOPE FETCH_SNAPSHOT BROKER_REGISTRATION BROKER_HEARTBEAT
    ALLOCATE_PRODUCER_IDS CONTROLLER_REGISTRATION ASSIGN_REPLICAS_TO_DIRS UPDATE_RAFT_VOTER
    INITIALIZE_SHARE_GROUP_STATE READ_SHARE_GROUP_STATE WRITE_SHARE_GROUP_STATE DELETE_SHARE_GROUP_STATE
    READ_SHARE_GROUP_STATE_SUMMARY"""
)
"""APIs that only brokers and controllers send to each other. WriteTxnMarkers is none: Admin.abortTransaction sends it too."""

SERVED_BY_BROKERS = _keys(
    """PRODUCE LIST_OFFSETS METADATA OFFSET_COMMIT OFFSET_FETCH FIND_COORDINATOR JOIN_GROUP HEARTBEAT LEAVE_GROUP SYNC_GROUP
    DESCRIBE_GROUPS LIST_GROUPS DELETE_RECORDS INIT_PRODUCER_ID OFFSET_FOR_LEADER_EPOCH ADD_PARTITIONS_TO_TXN
    ADD_OFFSETS_TO_TXN END_TXN WRITE_TXN_MARKERS TXN_OFFSET_COMMIT ALTER_REPLICA_LOG_DIRS DESCRIBE_LOG_DIRS DELETE_GROUPS
    OFFSET_DELETE DESCRIBE_CLIENT_QUOTAS DESCRIBE_USER_SCRAM_CREDENTIALS DESCRIBE_DELEGATION_TOKEN DESCRIBE_PRODUCERS
    DESCRIBE_TRANSACTIONS LIST_TRANSACTIONS CONSUMER_GROUP_HEARTBEAT CONSUMER_GROUP_DESCRIBE GET_TELEMETRY_SUBSCRIPTIONS
    PUSH_TELEMETRY DESCRIBE_TOPIC_PARTITIONS"""
)
"""APIs that brokers serve, but KRaft controllers in no release. (Those that only brokers send: INTER_BROKER_APIS.)"""

SERVED_BY_CONTROLLERS = _keys(
    """ENVELOPE VOTE BEGIN_QUORUM_EPOCH END_QUORUM_EPOCH FETCH_SNAPSHOT BROKER_REGISTRATION BROKER_HEARTBEAT
    ALLOCATE_PRODUCER_IDS CONTROLLER_REGISTRATION ASSIGN_REPLICAS_TO_DIRS UPDATE_RAFT_VOTER"""
)
"""APIs that KRaft controllers serve, but brokers in no release with KRaft."""
