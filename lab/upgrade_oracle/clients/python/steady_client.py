"""Produces or consumes with confluent-kafka (librdkafka) for a while. Arguments: ADDRESS CLIENT_ID TOPIC SECONDS BYTES.

BYTES are those to produce a second; 0 consumes, in a group named after the client.
"""

import sys
import time

from confluent_kafka import Consumer, Producer
from sasl import LIBRDKAFKA

ADDRESS, CLIENT_ID, TOPIC = sys.argv[1:4]
SECONDS, BYTES = int(sys.argv[4]), int(sys.argv[5])
SETTINGS = {"bootstrap.servers": ADDRESS, "client.id": CLIENT_ID, "log_level": 0, **LIBRDKAFKA}
END = time.monotonic() + SECONDS

if BYTES:
    producer = Producer(SETTINGS | {"linger.ms": 100, "queue.buffering.max.messages": 1000})
    while time.monotonic() < END:
        if len(producer) < 500:
            producer.produce(TOPIC, bytes(BYTES // 10))
        producer.poll(0.1)
    producer.purge()
else:
    consumer = Consumer(SETTINGS | {"group.id": CLIENT_ID, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    while time.monotonic() < END:
        consumer.poll(1)
    consumer.close()
