"""UUIDs in the encodings that clients use: hex, base64 and base64url."""

from ...connections.engine import Column, F

_HEX_UUID = r"\A[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\z"
_BASE64_UUID = r"\A[A-Za-z0-9+/]{21}[AQgw]\z"


def uuid_bits(text: Column) -> Column:
    """Return the 128 bits of an id in upper-case hex, from hex, base64 or base64url; null for other texts.

    22 characters of base64 hold 132 bits; if the last four are not zero, the text only looks like an id.
    """
    base64 = F.translate(F.rtrim(F.translate(text, "=", " ")), "-_", "+/")
    is_base64 = base64.rlike(_BASE64_UUID)
    # Not `upper`: at its first use, Spark 4 computes the title case of all of Unicode, which takes 1.5 s.
    return F.when(text.rlike(_HEX_UUID), F.translate(text, "abcdef-", "ABCDEF")).when(
        is_base64, F.hex(F.unbase64(F.concat(base64, F.lit("=="))))
    )
