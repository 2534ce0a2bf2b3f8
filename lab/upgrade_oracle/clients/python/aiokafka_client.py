"""Does with aiokafka what a client of Kafka does. Arguments: ADDRESS PREFIX TOPIC."""

from __future__ import annotations  # releases that are measured may need Python 3.8

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import aiokafka
from outcome import MESSAGES, PATIENCE, STAY, did
from sasl import KAFKA_PYTHON

ADDRESS, PREFIX, TOPIC = sys.argv[1:4]


def settings(client_id: str | None, **more: object) -> dict[str, Any]:
    named = {} if client_id is None else {"client_id": client_id}
    return {"bootstrap_servers": ADDRESS, **KAFKA_PYTHON, **named, **more}


async def produce() -> None:
    async with aiokafka.AIOKafkaProducer(**settings(None)) as producer:
        for _ in range(MESSAGES):
            await producer.send_and_wait(TOPIC, b"value")


async def consume(client_id: str | None, group: str) -> None:
    first = {"group_id": group, "auto_offset_reset": "earliest", "heartbeat_interval_ms": int(STAY * 250)}
    async with aiokafka.AIOKafkaConsumer(TOPIC, **settings(client_id, **first)) as consumer:
        await consumer.getone()
        await consumer.commit()
        await asyncio.sleep(STAY)


async def administer(client_id: str) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # from 0.8 on

    admin = AIOKafkaAdminClient(**settings(client_id))
    await admin.start()
    await admin.list_topics()
    await admin.create_topics([NewTopic(client_id, 1, 1)])
    await admin.close()


def limited(work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> Callable[[], None]:
    return lambda: asyncio.run(asyncio.wait_for(work(*arguments), PATIENCE))


did("produce", "aiokafka-producer-1", limited(produce))
did("consume", f"aiokafka-{aiokafka.__version__}", limited(consume, None, f"g-{PREFIX}"))
did("consume", f"{PREFIX}-c1", limited(consume, f"{PREFIX}-c1", f"g-{PREFIX}-c1"))
did("admin", f"{PREFIX}-adm", limited(administer, f"{PREFIX}-adm"))
