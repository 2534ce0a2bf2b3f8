"""Ways to damage a record, each as somebody or something could: a bad disk, a bad client, or a clever one.

A mutation takes a record's bytes, records of other generations and a random generator, and gives the damaged bytes.
All randomness comes from the generator, so a seed gives the same damage again.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[bytes, Sequence[bytes], Random], bytes]

PREFIX = b"[2026-01-01 00:00:00,000] DEBUG Completed request:"
FORGED = (
    b'\n[2026-01-01 00:00:00,000] DEBUG Completed request:{"isForwarded":false,"requestHeader":{} (kafka.request.logger)\n',
    b"\n" + PREFIX,
    b"\n[9999-12-31 23:59:59,999] TRACE ",
    b" (kafka.request.logger)\n" + PREFIX + b"RequestHeader(apiKey=FETCH, apiVersion=1, clientId=x, correlationId=1) -- {}",
)  # fmt: skip
LINE_ENDS = (b"\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x85", "\u2028".encode(), b"\n" * 400, b"\n\n[")
NOT_UTF8 = (b"\xff", b"\xc3", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80" * 9, b"\xff\xfe", b"\xef\xbb\xbf")  # fmt: skip
EXTREMES = (
    *(str(2**bits - plus).encode() for bits in (15, 16, 31, 32, 63, 64) for plus in (0, 1)),
    *(str(-(2**bits) - 1).encode() for bits in (15, 31, 63)),
    b"-1", b"-0", b"00", b"", b"1e999", b"-1e999", b"NaN", b"Infinity", b"1.7976931348623157e308", b"0x1F", b"1_000",
    "\u0663".encode(), "\u00b2".encode(), b"null", b"true", b'"7"', b"[]", b"{}", b"1.5", b"+1", b"9" * 18, b"0." + b"1" * 19,
)  # fmt: skip
SURROGATES = (b"\\ud800", b"\\udfff", b"\\udc00\\ud800", b"\\ud83d\\ude00", b"\\u0000", b"\\uD8", b"\\u", b"\\")
OPENINGS = (b"[", b"{", b'{"a":', b"{a=", b"[[", b"[{a=[", b'{"a":[', b"(", b'"')
TOKENS = (
    PREFIX, b"\n" + PREFIX, b" from connection a:1-b:2;totalTime:1", b" from client /a:1;totalTime:1,requestQueueTime:1",
    b", correlationId=1) -- {", b",client_id=x} -- {a=", b"; ClientId: x", b"; CorrelationId: 1;", b",listener:X",
    b",clientInformation:ClientInformation(softwareName=x, softwareVersion=", b",messageConversionsTime:1,1,1", b",response:{",
    b',"response":{"errorCode":0', b',"request":{"a":', b',"connection":"a:1-b:2-3"', b'"replicaState":{"replicaId":', b":1-",
    b"{a=1,", b",_tagged_fields={", b"java.nio.HeapByteBuffer[pos=0 lim=24 cap=", b"Some(", b" (kafka.request.logger)",
    b"(a" * 4, b"\\\\", b'"', b"},{", b"],[", b" ", b"0",
)  # fmt: skip
STRUCTURE = b'"{}[]():;,=\\- \n'
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_LONG = 16 << 10


def _inserted(line: bytes, what: bytes, random: Random) -> bytes:
    at = random.randrange(len(line) + 1)
    return line[:at] + what + line[at:]


def _inserting(*choices: bytes) -> Mutation:
    return lambda line, others, random: _inserted(line, random.choice(choices), random)


def _flip_bits(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    flipped = bytearray(line)
    for _ in range(random.randint(1, 8)):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def _splice(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    return line[: random.randrange(len(line) + 1)] + other[random.randrange(len(other)) :]


def _truncate(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at, end = sorted((random.randrange(len(line) + 1), random.randrange(len(line) + 1)))
    return random.choice((line[:at], line[at:], line[:at] + line[end:], line[:at] + b"\n")) or b"\n"


def _insert_prefix(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return _inserted(line, random.choice((*FORGED, b"\n" + random.choice(others))), random)


def _edit_number(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    numbers = list(_NUMBER.finditer(line[:_LONG]))
    if not numbers:
        return line
    found = random.choice(numbers)
    huge = found[0] + b"9" * random.choice((18, 19, 20, 310, 4300, 4301, _LONG))
    return line[: found.start()] + random.choice((*EXTREMES, huge)) + line[found.end() :]


def _edit_time(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    at = random.randrange(1, 24)
    return line[:at] + bytes([random.choice(b"0123456789")]) + line[at + 1 :]


def _shuffle_fields(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Duplicate some, or swap two."""
    parts = line.split(b",")
    at, to = random.randrange(len(parts)), random.randrange(len(parts))
    if random.random() < 0.5:
        return b",".join([*parts[: at + 1], *parts[at : at + random.randint(1, 3)], *parts[at + 1 :]])
    parts[at], parts[to] = parts[to], parts[at]
    return b",".join(parts)


def _nest(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    opening = random.choice(OPENINGS)
    depth = random.choice((20, 1000, _LONG // len(opening)))
    closing = opening.translate(bytes.maketrans(b"[{(", b"]})"), b'"a:=')[::-1]
    return _inserted(line, opening * depth + random.choice((b"", b"1", b"1" + closing * depth)), random)


def _insert_surrogate(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Mostly inside a JSON string; in text it is text like any other."""
    quotes = [found.end() for found in re.finditer(rb':"', line[:_LONG])]
    at = random.choice(quotes) if quotes else random.randrange(len(line))
    return line[:at] + random.choice(SURROGATES) + line[at:]


def _repeat_token(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    token = random.choice(TOKENS)
    return _inserted(line, token * random.randint(1, max(1, _LONG // len(token))), random)


def _edit_structure(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    places = [at for at in range(min(len(line), 2000)) if line[at] in STRUCTURE]
    at = random.choice(places) if places else 0
    return line[:at] + random.choice((b"", bytes([random.choice(STRUCTURE)]))) + line[at + 1 :]


def _tear(line: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Half of a record, or of several, and a whole one of any generation: a broker was killed, and started again."""
    halves = [line, *random.choices(others, k=random.choice((0, 0, 0, 1, 2)))]
    return b"".join(half[: random.randrange(len(half) + 1)] for half in halves) + random.choice([line, *others])


MUTATIONS: dict[str, Mutation] = {
    "bit flips": _flip_bits,
    "splice of two generations": _splice,
    "truncation": _truncate,
    "tear": _tear,
    "inserted prefix": _insert_prefix,
    "inserted line end": _inserting(*LINE_ENDS),
    "inserted NUL": _inserting(*(b"\0" * number for number in (1, 2, 8, 4096))),
    "inserted invalid UTF-8": _inserting(*NOT_UTF8),
    "edited number": _edit_number,
    "edited time": _edit_time,
    "shuffled fields": _shuffle_fields,
    "deep nesting": _nest,
    "lone surrogate": _insert_surrogate,
    "repeated token": _repeat_token,
    "edited structure": _edit_structure,
}


def mutated(line: bytes, others: Sequence[bytes], random: Random) -> tuple[bytes, list[str]]:
    """The record after one to three mutations, and their kinds."""
    kinds = random.choices(list(MUTATIONS), k=random.choice((1, 1, 1, 1, 2, 2, 3)))
    for kind in kinds:
        line = MUTATIONS[kind](line or b"\n", others, random)
    return line or b"\n", kinds
