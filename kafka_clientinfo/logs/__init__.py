"""Text and bytes of Kafka's request log to events; pure Python, no Spark.

for record in range_records(path, 0, None):
    event = parser.parse(record)
"""

from .framing import RawRecord, split_records
from .parser import Parser
from .reader import CorruptFile, FileHead, file_id, head, range_records
from .request_event import IgnoredRecord, RejectedRecord, RequestEvent

__all__ = [
    "CorruptFile",
    "FileHead",
    "IgnoredRecord",
    "Parser",
    "RawRecord",
    "RejectedRecord",
    "RequestEvent",
    "file_id",
    "head",
    "range_records",
    "split_records",
]
