"""The reader of Kafka's request logs, which turns their bytes into records and events; pure Python, without Spark.

for record in range_records(path, 0, None):
    event = parser.parse(record)
"""

from .framing import RawRecord
from .parser import Parser
from .reader import range_records
from .request_event import IgnoredRecord, RejectedRecord, RequestEvent
from .unwrapping import split_records

__all__ = ["IgnoredRecord", "Parser", "RawRecord", "RejectedRecord", "RequestEvent", "range_records", "split_records"]
