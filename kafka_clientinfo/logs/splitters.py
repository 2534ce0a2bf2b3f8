"""The splitters of a stream of bytes into records, by the layout of its file."""

from collections.abc import Iterable, Iterator

from .framing import IDENTITY, REQUEST_LOG, Framing, PlainSplitter, RawRecord
from .layouts import KAFKA, Layout
from .line_records import Splitter, all_records
from .unwrapping import LineSplitter


def splitter_of(layout: Layout, offset: int, kind: Framing = REQUEST_LOG, is_over: bool = False) -> Splitter:
    """Return the splitter for a layout; the stream begins at `offset`, a file's first byte or the end of a record.

    Under `framing.IDENTITY` no record has a stack trace. `is_over` says that the file no longer grows: at its end a
    whole record counts, and an incomplete one is torn.
    """
    if layout.splittable:
        others = None if kind is not REQUEST_LOG else _records_of_others
        return PlainSplitter(offset, kind, is_over, others)
    return LineSplitter(offset, layout, kind is not IDENTITY, is_over=is_over)


def _records_of_others(offset: int, data: bytes, is_over: bool) -> Iterator[RawRecord]:
    """Yield the records of lines in any other layout."""
    return all_records(LineSplitter(offset, Layout("lines", logger_ends=False), True, is_over), [data])


def layout_records(
    blocks: Iterable[bytes], offset: int, layout: Layout, kind: Framing = REQUEST_LOG
) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in any layout; only the last record can be unfinished."""
    return all_records(splitter_of(layout, offset, kind), blocks)


def split_records(blocks: Iterable[bytes], offset: int = 0, framing: Framing = REQUEST_LOG) -> Iterator[RawRecord]:
    """Yield the records of a stream of blocks in Kafka's own layout, which begins at `offset` in the decompressed file.

    Bytes before the first prefix are a record of their own.
    """
    return layout_records(blocks, offset, KAFKA, framing)
