"""Structured Streaming of request logs into a bronze table: `python examples/bronze_stream.py LOGS TABLE CHECKPOINT`.

It reads what is there and ends; a schedule starts it again, and it goes on where it ended. After a kill, Spark before 4.2 only
ends the batch that was cut off, without rows if the table has them already, so it starts until nothing is new twice. For a
stream that goes on, replace the loop by one start with the trigger `processingTime="1 minute"`.
"""

import sys

from kafka_clientinfo import load_settings, local_session
from kafka_clientinfo.source import KafkaRequestLog


def main(logs: str, table: str, checkpoint: str) -> None:
    spark = local_session(load_settings())  # on a platform: the session that is there
    spark.dataSource.register(KafkaRequestLog)
    requests = spark.readStream.format("kafka_request_log").option("cluster", "orders").load(logs)
    writing = requests.writeStream.format("delta").option("checkpointLocation", checkpoint)
    starts_without_rows = 0
    while starts_without_rows < 2:
        query = writing.trigger(availableNow=True).start(table)
        query.awaitTermination()
        is_new = any(progress["numInputRows"] for progress in query.recentProgress)
        starts_without_rows = 0 if is_new else starts_without_rows + 1
    print(f"{spark.read.format('delta').load(table).count():,} requests in {table}")


if __name__ == "__main__":
    main(*sys.argv[1:])
