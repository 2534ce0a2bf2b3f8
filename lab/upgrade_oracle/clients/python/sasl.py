"""Settings of the Python libraries for SASL/PLAIN, if KAFKA_SASL holds USER:PASSWORD; otherwise none."""

from __future__ import annotations  # releases that are measured may need Python 3.7

import os

USER, _, PASSWORD = os.environ.get("KAFKA_SASL", "").partition(":")
MECHANISM = "PLAIN"
PROTOCOL = "SASL_PLAINTEXT"

LIBRDKAFKA: dict[str, str] = {}
KAFKA_PYTHON: dict[str, str] = {}  # aiokafka has taken over its names
if USER:
    LIBRDKAFKA.update(
        {
            "security.protocol": PROTOCOL,
            "sasl.mechanisms": MECHANISM,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
    )
    KAFKA_PYTHON.update(
        security_protocol=PROTOCOL, sasl_mechanism=MECHANISM, sasl_plain_username=USER, sasl_plain_password=PASSWORD
    )
