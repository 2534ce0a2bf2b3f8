"""Who uses which topic, by name or by id (KIP-516), also in fetch sessions (KIP-227); and which topics exist."""

from ...connections.concern import Concern
from . import known_topics, topic_usage

CONCERN = Concern(
    name="topics",
    transforms={
        "known_topics": known_topics.transform,
        "topic_usage": topic_usage.transform,
    },
)
