"""The search for requests in JSON after a torn request in text.

They occur if a broker before 2.8 was killed while it wrote a request, and a later release continues the file. Lines in
JSON after a request in text are not proof of that, because before 2.8 a client id or a topic may hold whole lines in
JSON. But a string of the protocol has a greatest length, and the broker writes words of its own between two strings of
a request. So if lines in JSON without such words are together longer than a string can be, no client wrote them, and
the request in text is torn before the first of them.

| between two strings of a request in text | the search |
|---|---|
| the name of the next field, `,group_id=`; in 0.8 `; Topics: ` | starts again after a line that holds such a name |
| a comma, in a list of strings or by topic, `topics=[a,b]` | finds nothing, as JSON holds commas, too |

The search ends after `SEARCHED` bytes, so that a record without its middle is split as the whole record is.
"""

import re

from .record_marks import COMPLETED, JSON_START, LOGGER_WINDOW, PREFIX, PREFIX_LENGTH, TOTAL_TIME, prefix_of

LONGEST_TEXT = 3 * 32_767
"""Bytes of the longest string of the protocol in a log, which shows an invalid byte as the three bytes of U+FFFD."""
SEARCHED = 1 << 20

_END = re.compile(rb"\} ?\([A-Za-z_][\w.$]{0,255}\)\r?\n")
_NEXT_FIELD = re.compile(rb"[,{( ][a-z_]\w{2,99}=|; ?[A-Z]\w{2,99}:")
"""The name of a field after a string. All such names are longer than names in certificates, such as `OU=` or `dc=`."""
_OPENING = re.compile(rb"=\[(?![{\]])|=\{(?!\})| -- (?![{[\r\n])")
"""Text that may begin a list of strings, a map with strings as keys, or a body in another notation."""
_NO_LISTS = (b"replicas", b"isr", b"offline_replicas", b"replica_nodes", b"isr_nodes", b"partitions", b"offsets",
             b"partition_indexes", b"old_style_offsets", b"coordinator", b"partition_header", b"_tagged_fields",
             b"api_key", b"api_version", b"client_id", b"apiKey", b"apiVersion", b"clientId")  # fmt: skip
"""Fields that do not hold several strings: lists of numbers, single structs, and fields of the header."""
_STRINGLESS = tuple(before + name for name in _NO_LISTS for before in (b",", b"{", b" ", b"("))
_CLIENT_ID = b"ClientId:"


def _is_json_request(data: bytes, start: int, line_end: int) -> bool:
    """Return whether a line is one request in JSON from its prefix to its logger, and holds no second one."""
    prefix = PREFIX.match(data, start, line_end)
    if prefix is None or not data.startswith(JSON_START, prefix.end()):
        return False
    if data.find(JSON_START, prefix.end() + 1, line_end) >= 0:
        return False
    end = _END.search(data, max(start, line_end - LOGGER_WINDOW), line_end)
    return end is not None and end.end() == line_end


class JsonRun:
    """The search in one record; each call continues where the previous one ended, as more of the record is read.

    Attributes:
        offset: offset of the record in the file.
    """

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self._reached = 0
        # Positions after the record's start, 0 for none:
        self._json_from = 0  # where the present run of lines in JSON begins
        self._nameless_from = 0  # where its part begins in which no line holds a field's name
        self._is_hopeless = False

    def find(self, data: bytes, start: int, end: int) -> int:
        """Return the position of the first request in JSON after a torn one in data[start:end]; 0 if none is sure."""
        end = min(end, start + SEARCHED)
        while not self._is_hopeless and not self._is_shown():
            line = start + self._reached
            line_end = data.find(b"\n", line, end) + 1
            if not line_end:
                return 0
            self._reached = line_end - start
            is_json = _is_json_request(data, line, line_end)
            is_nameless = is_json and not _holds_field(data, line, line_end)
            self._json_from = (self._json_from or line - start) if is_json else 0
            self._nameless_from = (self._nameless_from or line - start) if is_nameless else 0
            if is_json and data.find(TOTAL_TIME, line, line_end) >= 0:
                self._is_hopeless = True  # a line with times and a logger ends a request in text
            elif self._is_shown():
                self._is_hopeless = not _is_in_one_string(data, start, start + self._nameless_from)
        return 0 if self._is_hopeless else _on_torn_line(data, start, start + self._json_from)

    def _is_shown(self) -> bool:
        return self._nameless_from > 0 and self._reached - self._nameless_from > LONGEST_TEXT


def _on_torn_line(data: bytes, start: int, first: int) -> int:
    """Return the position of a request in JSON on the torn line, which ends at `first`; `first` if there is none."""
    line = max(start, data.rfind(b"\n", start, first - 1)) + 1
    words = data.rfind(JSON_START, line, first)
    bracket = data.rfind(b"[", max(line, words - PREFIX_LENGTH), words) if words >= 0 else -1
    return bracket if bracket >= 0 and _is_json_request(data, bracket, first) else first


def _holds_field(data: bytes, start: int, end: int) -> bool:
    has_mark = data.find(b"=", start, end) >= 0 or data.find(b";", start, end) >= 0  # most lines hold neither
    return has_mark and _NEXT_FIELD.search(data, start, end) is not None


def _is_in_one_string(data: bytes, start: int, end: int) -> bool:
    """Return whether data[start:end] begins a request in text, and a client's text open at `end` must be one string."""
    prefix = prefix_of(data, start)
    if prefix is None or not data.startswith(COMPLETED, prefix.end()):
        return False
    words = prefix.end() + len(COMPLETED)
    if data.startswith(b"Name:", words):
        client_id = data.find(_CLIENT_ID, words, end)
        return client_id < 0 or data.find(b";", client_id, end) < 0
    openings = _OPENING.finditer(data, words, end)
    return all(data.endswith(_STRINGLESS, words, opening.start()) for opening in openings)
