"""Produces and consumes with librdkafka until it is ended. Arguments: ADDRESS CLIENT_ID GROUP [NAME=VALUE …].

Without GROUP (an empty one) it only asks for the topics, every second.
"""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

ADDRESS, CLIENT_ID, GROUP, *MORE = sys.argv[1:]
settings = {"bootstrap.servers": ADDRESS, "client.id": CLIENT_ID, **dict(item.split("=", 1) for item in MORE)}
if not GROUP:
    admin = AdminClient(settings)
    while True:
        try:
            admin.list_topics(timeout=5)
        except KafkaException as error:
            print(time.time(), error, flush=True)
        time.sleep(1)
producer = Producer(settings)
consumer = Consumer({**settings, "group.id": GROUP, "auto.offset.reset": "earliest"})
consumer.subscribe(["t1"])
while True:
    producer.produce("t1", b"value")
    producer.poll(0)
    consumer.poll(0.5)
    time.sleep(0.5)
