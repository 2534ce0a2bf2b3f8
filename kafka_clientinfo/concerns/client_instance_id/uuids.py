"""The same 128 bits in the encodings that clients write them in."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_HEX_UUID = r"\A[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\z"
_BASE64_UUID = r"\A[A-Za-z0-9+/]{21}[AQgw]\z"


def uuid_bits(text: Column) -> Column:
    """Reads the 128 bits of an id, in upper-case hex, from hex, base64 or base64url; null for other texts.

    22 characters of base64 have 132 bits: where the last four are not zero, the text is no id but looks like one.
    """
    base64 = F.translate(F.rtrim(F.translate(text, "=", " ")), "-_", "+/")
    is_base64 = base64.rlike(_BASE64_UUID)
    # Not `upper`: its first use has Spark 4 work out the title case of all of Unicode, which takes a second and a half.
    return F.when(text.rlike(_HEX_UUID), F.translate(text, "abcdef-", "ABCDEF")).when(
        is_base64, F.hex(F.unbase64(F.concat(base64, F.lit("=="))))
    )


def canonical(text: Column) -> Column:
    """Writes an id as Kafka writes a Uuid, in base64url without padding; other texts stay."""
    base64 = F.base64(F.unhex(uuid_bits(text)))
    return F.coalesce(F.translate(F.rtrim(F.translate(base64, "=", " ")), "+/", "-_"), text)
