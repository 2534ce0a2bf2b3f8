"""Requests to connections: boundaries, the judged requests, the table of connections, and violations."""

from .boundaries import any_before, first_up_to_now, has_header_v3, last_before
from .concern import Columns, Concern, ConnectionRule, RequestRule
from .examples import example, example_without_id, place, time_pattern
from .facts import has_broker_name, is_client, processor_text
from .judged import (
    API_RANGES,
    GROUP_APIS,
    HEARTBEATS,
    has_instance_id,
    is_api_versions,
    is_api_versions_success,
    judged_requests,
    range_of,
    requests_where,
)
from .table import connections, only_of_clients
from .texts import (
    LISTED,
    body_text,
    host_of_client,
    is_one_of,
    looked_up,
    merged_texts,
    no_texts,
    number_of_texts,
    request_name,
    sentence,
    shown,
    sorted_texts,
)
from .violations import FINDING, by_connection_id, completed_finding, violations

__all__ = [
    "API_RANGES",
    "FINDING",
    "GROUP_APIS",
    "HEARTBEATS",
    "LISTED",
    "Columns",
    "Concern",
    "ConnectionRule",
    "RequestRule",
    "any_before",
    "body_text",
    "by_connection_id",
    "completed_finding",
    "connections",
    "example",
    "example_without_id",
    "first_up_to_now",
    "has_broker_name",
    "has_header_v3",
    "has_instance_id",
    "host_of_client",
    "is_api_versions",
    "is_api_versions_success",
    "is_client",
    "is_one_of",
    "judged_requests",
    "last_before",
    "looked_up",
    "merged_texts",
    "no_texts",
    "number_of_texts",
    "only_of_clients",
    "place",
    "processor_text",
    "range_of",
    "request_name",
    "requests_where",
    "sentence",
    "shown",
    "sorted_texts",
    "time_pattern",
    "violations",
]
