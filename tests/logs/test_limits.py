"""Names and limits that users and warehouses rely on, each as a whole."""

from kafka_clientinfo.ingestion import columnar
from kafka_clientinfo.logs import (
    apis,
    broker_events,
    broker_records,
    compression,
    connection,
    framing,
    group_bodies,
    layouts,
    reader,
    request_event,
    struct_text,
)

MIB = 1 << 20


def test_what_is_kept_at_most_stays_the_same() -> None:
    # A file's identity and the place where it is resumed are hashes of so many bytes.
    assert (reader.IDENTITY_BYTES, reader.RESUME_WINDOW) == (MIB, 64 << 10)
    assert (framing.MAX_RECORD, framing.KEPT_HEAD, framing.KEPT_TAIL) == (32 * MIB, MIB, 64 << 10)
    assert (request_event.RAW_LIMIT, struct_text.MAX_BODY, layouts.SAMPLE) == (MIB, MIB, MIB)
    assert (group_bodies.MAX_LISTED, columnar.MEMORY) == (1000, 4096)
    assert (connection.LONGEST, broker_events.MOST_EVENTS, broker_records.LONGEST_TEXT) == (600, 1000, 256 << 10)
    assert (compression.MAX_WINDOW, compression.SNIFFED) == (128 * MIB, 16)


GROUPS = {
    "REPLICA_APIS": [1, 2],
    "CONTROL_APIS": [10, 11, 12, 13, 14, 15, 17, 18, 42, 47, 68, 71, 72, 76, 88],
    "INTER_BROKER_APIS": [4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 83, 84, 85, 86, 87],
    "SERVED_BY_BROKERS": [0, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26, 27, 28, 34, 35, 41, 42, 47, 48,
                          50, 61, 65, 66, 68, 69, 71, 72, 75],
    "SERVED_BY_CONTROLLERS": [52, 53, 54, 58, 59, 62, 63, 67, 70, 73, 82],
}  # fmt: skip


def test_groups_of_apis_have_these_keys() -> None:
    assert {name: sorted(getattr(apis, name)) for name in GROUPS} == GROUPS
    assert apis.LOGGER_API == 44  # which sets levels of loggers
