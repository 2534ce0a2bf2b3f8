"""A member of a group, by librdkafka, that does as Member.java does; see there."""

import queue
import sys
import threading

from confluent_kafka import Consumer
from sasl import LIBRDKAFKA


def main(address: str, topic: str, *settings: str) -> None:
    chosen = dict(setting.split("=", 1) for setting in settings)
    commands: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [commands.put(line.strip()) for line in sys.stdin], daemon=True).start()
    common = {"bootstrap.servers": address, "topic.metadata.refresh.interval.ms": 2000, **LIBRDKAFKA}
    consumer = Consumer({**common, **chosen})
    consumer.subscribe([topic])
    before, command = -1, ""
    while command != "close":
        if command.startswith("subscribe "):
            consumer.subscribe(command.split()[1:])
        consumer.poll(0.1)
        if (now := len(consumer.assignment())) != before:
            before = now
            print(now, flush=True)
        command = commands.get() if not commands.empty() else ""
    consumer.close()


main(*sys.argv[1:])
