"""Bodies that a damaged or forged log may hold in the place of JSON objects; `…` stands for an object's members."""

NO_JSON = {
    "text after its end": "{…}x", "another object after it": "{…}{…}", "a brace too many": "{…}}",
    "a comma after it": "{…},", "NUL after it": "{…}\0", "a form feed after it": "{…}\f",
    "a space after it that is not ASCII": "{…}\N{NO-BREAK SPACE}", "no end": "{…", "no end of a text": '{…,"y":"',
    "a member too few": "{…,}", "an element too few": '{…,"y":[1,]}', "a name without quotes": "{…,y:1}",
    "single quotes": "{'y':1,…}", "a comment": "{…/*y*/}", "NaN": '{…,"y":NaN}', "Infinity": '{"y":Infinity,…}',
    "-Infinity": '{…,"y":-Infinity}', "nan": '{…,"y":nan}', "INF": '{…,"y":INF}', "True": '{…,"y":True}',
    "a number that begins with zero": '{…,"y":01}', "a number that begins with plus": '{…,"y":+1}',
    "a number that ends with a point": '{…,"y":1.}', "a number that begins with a point": '{…,"y":.5}',
    "a sign alone": '{…,"y":-}', "a hexadecimal number": '{…,"y":0x1}', "a tab in a text": '{…,"y":"a\tb"}',
    "a tab in a name": '{…,"a\tb":1}', "an unknown escape": '{…,"y":"\\x41"}', "half an escape": '{…,"y":"\\u12"}',
}  # fmt: skip
"""What no standard calls JSON, though one engine or the other reads some of it."""

BEYOND_LIMITS = {
    "lists, too deep": '{…,"y":' + "[" * 100 + "]" * 100 + "}",
    "objects, too deep": '{…,"y":' + '{"z":' * 99 + "{}" + "}" * 99 + "}",
    "both, far too deep": '{…,"y":' + '[{"z":' * 5000 + "1" + "}]" * 5000 + "}",
    "a long whole number": '{…,"y":' + "1" * 1001 + "}", "a longer one than Python reads": '{…,"y":' + "1" * 5000 + "}",
    "a long fraction": '{…,"y":-0.' + "1" * 998 + "}", "a number above all doubles": '{…,"y":1e400}',
    "a number below all doubles": '{…,"y":-1e400}', "a long name": '{…,"' + "y" * 50_001 + '":1}',
    "a long name with blanks after it": '{…,"' + "y" * 50_001 + '" \t:1}',
}  # fmt: skip
"""JSON that one engine or the other cannot read, or reads as something else."""

WITHIN_LIMITS = {
    "a blank after it": "{…} ", "a carriage return after it": "{…}\r",
    "lists, just not too deep": '{…,"y":' + "[" * 99 + "]" * 99 + "}",
    "many lists beside each other": '{…,"y":[' + "[[]]," * 500 + "0]}",
    "brackets in a text": '{…,"y":"' + "[{" * 500 + '"}',
    "brackets after a quote in a text": '{…,"y":"\\"' + "[{" * 500 + '\\\\"}',
    "the longest whole number": '{…,"y":' + "1" * 1000 + "}", "the longest fraction": '{…,"y":-0.' + "1" * 997 + "}",
    "digits in a text": '{…,"y":"' + "1" * 2000 + '"}', "many numbers": '{…,"y":[' + "1234567," * 500 + "0]}",
    "a large number": '{…,"y":1e300}', "a tiny number": '{…,"y":1e-400}',
    "the longest name": '{…,"' + "y" * 50_000 + '":1}', "a long text": '{…,"y":"' + "y" * 60_000 + '"}',
    "a long text with a colon in it": '{…,"y":"\\":' + "y" * 60_000 + '"}',
    "a character beyond 16 bits": '{…,"y":"\\ud83d\\ude00"}', "half a character": '{…,"y":"\\ud800"}',
    "NUL in a text": '{…,"y":"a\\u0000b"}', "a character that is none": '{…,"y":"\uffff"}',
}  # fmt: skip
"""JSON that both engines read."""


def with_members(body: str, members: str) -> str:
    """Fill in a body; the members stand without their object's braces."""
    return body.replace("…", members)
