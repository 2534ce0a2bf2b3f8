"""Names and limits that users and warehouses rely on, each as a whole."""

import pytest

from kafka_clientinfo.logs import (
    apis,
    bodies,
    compression,
    connection,
    framing,
    group_bodies,
    layouts,
    reader,
    request_event,
    twins,
)
from kafka_clientinfo.logs.generations.fields import int16, int32
from kafka_clientinfo.logs.request_event import MalformedRecord

MIB = 1 << 20


def test_what_is_kept_at_most_stays_the_same() -> None:
    # A file's identity and the place where it is resumed are hashes of so many bytes.
    assert (reader.IDENTITY_BYTES, reader.RESUME_WINDOW) == (MIB, 64 << 10)
    assert (framing.MAX_RECORD, framing.KEPT_HEAD, framing.KEPT_TAIL) == (32 * MIB, MIB, 64 << 10)
    assert (request_event.RAW_LIMIT, bodies.MAX_BODY, layouts.SAMPLE) == (MIB, MIB, MIB)
    assert (group_bodies.MAX_LISTED, twins.MEMORY) == (1000, 4096)
    assert connection.LONGEST == 600
    assert (compression.MAX_WINDOW, compression.SNIFFED) == (128 * MIB, 16)


GROUPS = {
    "REPLICA_APIS": [1, 2],
    "CONTROL_APIS": [10, 11, 12, 13, 14, 15, 17, 18, 42, 47, 68, 71, 72, 76, 88],
    "INTER_BROKER_APIS": [4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 83, 84, 85, 86, 87],
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_of_apis_have_these_keys(name: str) -> None:
    assert sorted(getattr(apis, name)) == GROUPS[name]


@pytest.mark.parametrize("read", [int16, int32])
def test_it_takes_signed_numbers_up_to_their_width(read: object) -> None:
    bits = 15 if read is int16 else 31
    assert callable(read)
    for value in (-(1 << bits), -1, 0, (1 << bits) - 1):
        assert (read(value, "x"), read(b"%d" % value, "x")) == (value, value)
    for wrong in (-(1 << bits) - 1, 1 << bits, True, None, "1", 1.0):
        with pytest.raises(MalformedRecord) as caught:
            read(wrong, "x")
        allowed = f"{-(1 << bits)}..{(1 << bits) - 1}"
        assert (caught.value.reason, caught.value.detail) == (
            "malformed_value",
            f"x is {wrong!r}, not an integer in {allowed}",
        )
