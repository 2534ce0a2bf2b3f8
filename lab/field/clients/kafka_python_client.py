"""Produces and consumes with kafka-python until it is ended. Arguments: ADDRESS CLIENT_ID GROUP [API_VERSION].

With API_VERSION (as 2.5) the client asks no broker for its versions.
"""

import sys
import time

from kafka import KafkaConsumer, KafkaProducer

ADDRESS, CLIENT_ID, GROUP, *VERSION = sys.argv[1:]
settings = {"bootstrap_servers": ADDRESS, "client_id": CLIENT_ID}
if VERSION:
    settings["api_version"] = tuple(int(number) for number in VERSION[0].split("."))
producer = consumer = None
while True:
    try:
        producer = producer or KafkaProducer(**settings)
        consumer = consumer or KafkaConsumer("t1", group_id=GROUP, auto_offset_reset="earliest", **settings)
        producer.send("t1", b"value")
        consumer.poll(500)
    except Exception as error:  # goes on: brokers are killed under it
        print(time.time(), repr(error), flush=True)
    time.sleep(0.5)
