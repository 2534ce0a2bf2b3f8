"""The head of a line in any log4j pattern: what stands before a request log's own words, which are Kafka's in every one.

A pattern is not expected but found: the words begin the message, and the head before them holds a time, and perhaps a
level, a thread, a logger and what a tool put before the line, such as `kafka-1  | ` or `[pod/x/kafka] `. So

    2026-11-21 02:49:28,462 DEBUG kafka.request.logger: Completed request:…
    [DEBUG] 2026-11-21 02:49:28,462 [thread] kafka.request.logger updateRequestMetrics - Completed request:…
    2026-11-21 02:49:28,462 | DEBUG | kafka.request.logger | Completed request:…

are read by one rule. It is strict, as another logger's line may repeat what a client sent: a head holds no quote and no
brace, no level above INFO, and no logger but that of requests.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from .record_marks import OWN_WORDS, REQUEST_LOGGERS, ZONE

_WORDS = re.compile(OWN_WORDS.pattern.decode())
_SAMPLE = 200
"""Characters from the words on that distinguish requests."""
LONGEST = 1 << 10
"""Bytes; longer than the head of a line."""
_NOT_OURS = re.compile(
    rb"[\"'`{}\x00-\x08\x0a-\x1a\x1c-\x1f]|Handling request:"
    rb"|(?<![\w-])(?i:WARN|WARNING|ERROR|FATAL)(?![\w-])"
    rb"|(?<![\w.])(?:kafka|org\.apache|io\.confluent)\.(?![\w.$]*Request)(?:[a-z]\w*\.)+[A-Z]"
)
"""What a head does not hold."""
_VALUE = rb'[\w.-]{1,64}=(?:"[^"\r\n]{0,256}"|[^"\r\n{}\[\],]{0,256})'
_LABELS = re.compile(rb"\{\}|[{\[](?:[\w@.-]{1,64} )?" + _VALUE + rb"(?:,? ?" + _VALUE + rb"){0,32}[}\]]")
"""Labels that a pattern or a tool adds: MDC's `{a=b}`, Loki's `{app="kafka"}`, the structured data of RFC 5424."""
_COLOUR = re.compile(rb"\x1b\[[\d;]{0,16}[mK]")
_LEVEL = re.compile(rb"(?<![A-Za-z0-9_.-])(TRACE|DEBUG|INFO)(?![A-Za-z0-9_.-])", re.IGNORECASE)
_BRACES = re.compile(rb"\{[^{}\"\r\n]{0,300}\}")
_TAIL = re.compile(
    rb"\s*+(?:(?:\([^()]{1,300}(?:\([^()]{1,300}\)[^()]{0,300})?\)|\[[^\[\]\r\n]{1,300}\]"
    rb"|\| ?[\w.$]{1,255}+ ?\|?|(?:- )?"
    + REQUEST_LOGGERS
    + rb"|[\w.-]{1,64}+=\S{0,256}+|(?=[^\s\d]{0,255}\d)[\w.:,+-]{1,255}+|<\w{1,64}>|[|;$#~>])\s*+){0,8}"
)
"""Brackets, a logger, words with `=` or a digit (a thread, a time, an id), and marks."""
_USUAL_TAILS = (b"", b" (kafka.request.logger)")
_UTC = (b"UTC", b"GMT")
_LEVELS = (b"TRACE", b"DEBUG", b"INFO")
_ZONE = rb"(?: ?(?P<half>[AaPp])\.?[Mm](?![\w-])\.?)?(?: ?(?P<zone>" + ZONE + rb"))?"
_CLOCK = (
    rb"(?P<clock>\d\d:\d\d:\d\d|\d:\d\d:\d\d(?=(?:[,.:]\d{1,9})? ?[AaPp]\.?[Mm]\b))"
    rb"(?:(?:[,.]|:(?=\d{3}(?!\d)))(?P<fraction>\d{1,9})(?!\d)|(?![,.]?\d|:\d{3}(?!\d)))" + _ZONE
)
_MONTH = rb"(?P<month>(?i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))[A-Za-z]{0,6}"
_MONTHS = {name: b"%02d" % at for at, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_FORMS = (
    re.compile(rb"(?<!\d)(?P<year>\d{4})([-/.])(?P<month>\d\d)\2(?P<day>\d\d)[ T_]" + _CLOCK + rb"(?!\d|-\d)"),
    re.compile(rb"(?<!\d)(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{4})[ T]" + _CLOCK),
    re.compile(
        rb"(?<![\d./-])(?P<first>\d\d)([/-])(?P<month>\d\d)\2(?P<last>(?:20)?\d\d)(?P<year>)(?P<day>),?[ T:]" + _CLOCK
    ),
    re.compile(rb"(?<![\d./-])(?P<first>\d\d)([/-])" + _MONTH + rb"\2(?P<last>\d\d)(?P<year>)(?P<day>)[ T:]" + _CLOCK),
    re.compile(rb"(?<![^\s|])[DI](?P<month>[01]\d)(?P<day>[0-3]\d)(?P<year>) " + _CLOCK),
    re.compile(rb"(?<!\d)(?P<day>\d\d?)[/ .-]" + _MONTH + rb"[/ .-](?P<year>\d{4})[ :T]" + _CLOCK),
    re.compile(
        rb"(?<!\d)(?P<year>19[7-9]\d|2[01]\d\d)(?P<month>\d\d)(?P<day>\d\d)[ T](?P<clock>\d\d:?\d\d:?\d\d)"
        rb"[,.]?+(?:(?P<fraction>\d{3,9})(?!\d)|(?!\d))" + _ZONE + rb"(?!\d)"
    ),
    re.compile(rb"(?<!\w)(?<!\d )" + _MONTH + rb" (?P<day>[ \d]\d)(?:,? (?P<year>\d{4})(?: @)?)? " + _CLOCK),
)
"""Dates and times, the surest first."""
_NUMBER = re.compile(
    rb"(?<![\w.-])(?:(20[1-9]\d)([01]\d)([0-3]\d)([0-2]\d)([0-5]\d)([0-5]\d)(\d{3,9})?"
    rb"|(\d{10})(?:((?:\d{3}){1,3})|\.(\d{1,9}))?)(?![\w:-]|\.\d)"
)
"""A time in digits alone: log4j's COMPACT, or the epoch in seconds down to nanoseconds, but not `%r [%t]`."""
_FIRST_RELEASE = 1_293_840_000_000_000
"""2011, the year of Kafka's first release; a lower number is none of the epoch."""
_YEAR = timedelta(days=366)
_INNER = re.compile(
    rb"\[(?![\s\d])[^\[\]]{0,300}\]|(?<![\w.-])(?!(?:t|ts|date|epoch|time(?:stamp)?)=)[\w.-]{1,64}+=\S{1,255}"
)
"""A thread, MDC or id, which may hold a time that is not the line's."""


def head_of(
    text: bytes, has_time: bool, latest: datetime | None = None
) -> tuple[int, bytes | None, bytes | None] | None:
    """Return where a request log's own words begin in a line, and the time and level that the head before them states.

    None in all if the line has no such words, or no head before them, which needs a time unless the line's is known
    (`has_time`). The time is that of `time_in`.
    """
    words = OWN_WORDS.search(text, 0, LONGEST)
    if words is None:
        return None
    head = text[: words.start()]
    head = head[head.rfind(b"\0") + 1 :]  # before zeros stands the torn end of a line
    if b"{" in head or b'="' in head:
        head = _LABELS.sub(b"", head)
    if _NOT_OURS.search(head) or head[-1:].isalnum():
        return None
    time = time_in(head, latest, has_time) if head else None
    if time is None and not has_time:
        return None
    levels = _LEVEL.findall(head)
    return words.start(), time, levels[-1].upper() if levels else None


def uncoloured(line: bytes) -> bytes:
    """Return a line without the colours of a tool, which stand before the request log's own words, or in them."""
    at = line.find(b"\x1b[", 0, LONGEST)
    return line if at < 0 or OWN_WORDS.search(line, 0, at) else _COLOUR.sub(b"", line)


def words_after(data: bytes, prefix: re.Match[bytes]) -> int:
    """Return where a request log's own words begin after a prefix of Kafka's own pattern and a further head; 0 if they do not."""
    head = head_of(data[prefix.end() : prefix.end() + LONGEST], True)
    return prefix.end() + head[0] if head is not None and prefix[4] in _LEVELS else 0


def may_follow(text: bytes) -> bool:
    """Return whether a pattern or a tool may write this after a message: no words of another one, and no other logger."""
    if text in _USUAL_TAILS:
        return True
    text = _BRACES.sub(b"", _COLOUR.sub(b"", text))
    return _TAIL.fullmatch(text) is not None and _NOT_OURS.search(text.strip()) is None


def is_one_request(texts: Iterable[str]) -> bool:
    """Return whether texts with a request log's own words hold at most one request, and perhaps repeat it."""
    return len({text[words.start() :][:_SAMPLE] for text in texts if (words := _WORDS.search(text))}) <= 1


def time_in(head: bytes, latest: datetime | None = None, has_time: bool = False) -> bytes | None:
    """Return the last time that a head states, in the notation of `record_marks.TIME`; None if it states none.

    The last one is the message's own; one before it is that of a wrapper or a tool, and one inside a thread's name or MDC
    or a number, which may be an id, only if there is no other: neither here nor of the line (`has_time`). A time without a
    year, or that is a number, is at most a day after `latest` (None: now).
    """
    found, outer = _date_in(head), head
    if found is None or head[: found.start()].strip(b"[ "):  # it does not begin the line
        outer = _INNER.sub(b" ", head)
        found = _date_in(outer) or (None if has_time else found)
    if found is not None:
        time = found.groupdict()
        month = _MONTHS.get(time["month"].capitalize(), time["month"])
        day, year = time["day"].strip().zfill(2), time["year"]
        digits = time["clock"].replace(b":", b"").zfill(6)
        hour = int(digits[:2])
        if time["half"] and not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (time["half"] in b"Pp") if time["half"] else hour
        clock = b"%02d:%b:%b" % (hour, digits[2:4], digits[4:])
        if "first" in time:
            is_named = month != time["month"]
            date = _only_date(time["first"], month, time["last"], _end_of(latest), is_named)
            if date is None:
                return None
            year, month, day = f"{date:%Y %m %d}".encode().split()
        year = year or _latest_year(month + b"-" + day + b" " + clock, _end_of(latest))
        fraction, zone = time["fraction"], b"Z" if time["zone"] in _UTC else time["zone"] or b""
        return b"-".join((year, month, day)) + b" " + clock + (b"," + fraction if fraction else b"") + zone
    if has_time or (found := _NUMBER.search(outer)) is None:
        return None
    end = _end_of(latest)
    if found[1]:
        compact = b"%b-%b-%b %b:%b:%b" % found.group(1, 2, 3, 4, 5, 6)
        return compact + (b"," + found[7] if found[7] else b"") if compact < f"{end:%Y-%m-%d}".encode() else None
    fraction = found[9] or found[10] or b""
    micros = int(found[8]) * 1_000_000 + int(fraction.ljust(6, b"0")[:6])
    may_be_uptime = not fraction and head.strip() != found[0]  # `%r` is as high after 15 to 21 days
    first = (end - _YEAR).timestamp() * 1_000_000 if may_be_uptime else _FIRST_RELEASE
    if may_be_uptime and found[8] + b" [" in head:
        return None
    return of_epoch(micros) if first <= micros < end.timestamp() * 1_000_000 else None


def _date_in(text: bytes) -> re.Match[bytes] | None:
    """Return the last date of the surest form that there is."""
    for form in _FORMS:
        if found := [*form.finditer(text)]:
            return found[-1]
    return None


def _only_date(first: bytes, middle: bytes, last: bytes, end: datetime, is_named: bool) -> datetime | None:
    """Return the only date before `end` that three numbers can be, or with a short year the only one in the year before it.

    `is_named` says that the month, in the middle, has a name.
    """
    orders = [(last, middle, first)]
    orders += [] if is_named else [(last, first, middle)]
    orders += [(first, middle, last)] if len(last) == 2 else []
    dates = set()
    for year, month, day in orders:
        with suppress(ValueError):
            dates.add(datetime(2000 + int(year[-2:]), int(month), int(day), tzinfo=UTC))
    dates = {date for date in dates if date <= end}
    if len(last) == 2:
        dates = {date for date in dates if end - date < _YEAR} or dates
    return dates.pop() if len(dates) == 1 else None


def _end_of(latest: datetime | None) -> datetime:
    return (latest or datetime.now(UTC)).astimezone(UTC) + timedelta(days=1)


def _latest_year(day_and_time: bytes, end: datetime) -> bytes:
    """Return the year of a time without one, such as `11-21 02:45:09`: the latest that puts it not after `end`."""
    return str(end.year - (f"{end:%m-%d %H:%M:%S}".encode() < day_and_time)).encode()


def of_epoch(micros: int) -> bytes | None:
    """Return microseconds since 1970 in the notation of `record_marks.TIME`; None before the year 1 or after 9999."""
    try:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z".encode()
