"""Which library a connection without a software name probably belongs to, by how its client behaves.

Each request, and the way in which a connection begins, rules out releases of libraries that behave otherwise
(`releases.client_signatures`). Releases are bits, which are combined for all requests of a connection. Names that
anybody may choose, as client ids, are no evidence.

A library is named only if all releases that are left are its own, and if the client has asked for something that a few
lines by hand would not: scripts and scanners negotiate, or ask for metadata in the first versions. How clients behave with
brokers before 2.8, which offer less, was not measured; their records are not JSON.
"""

from collections.abc import Mapping

from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.request_columns import is_api_versions
from ...connections.texts import looked_up
from ...logs.apis import SASL_APIS
from ...protocol import ApiKey
from ...releases.client_signatures import (
    WORD_BITS,
    Words,
    by_beginning,
    by_first_work,
    by_handshake,
    by_version,
    client_signatures,
    number_of_words,
    words,
)

_BY_HAND = 2
"""Below this version scripts ask for metadata, too."""
_ALL = (1 << WORD_BITS) - 1


def predicates() -> Columns:
    """Return the releases that may have sent a request, in words of bits, and whether the request tells libraries apart."""
    request = F.concat_ws(" ", "api_name", F.col("api_version").cast("string"))
    senders = [looked_up(_word(by_version(), number), request) for number in range(number_of_words())]
    is_by_hand = (F.col("api_name") == "METADATA") & (F.col("api_version") < _BY_HAND)
    return {
        **{f"senders_{number}": F.coalesce(word, F.lit(_ALL)) for number, word in enumerate(senders)},
        "is_telling": senders[0].isNotNull() & ~is_by_hand,
    }


def aggregates() -> Aggregates:
    """Return the releases that may have sent all requests, and the first request after the handshake."""
    is_work = ~is_api_versions() & ~F.col("api_name").isin(*SASL_APIS)
    first = F.struct("seq", "correlation_id", "api_name", "api_version")
    return {
        **{f"senders_{number}": F.bit_and(f"senders_{number}") for number in range(number_of_words())},
        "first_work": F.min(F.when(is_work, first)),
        "has_sasl": F.bool_or(F.col("api_name").isin(*SASL_APIS)),
        "is_telling": F.bool_or("is_telling"),
    }


def handshake() -> Column:
    """Return how a connection begins, over its aggregates.

    The version of the first ApiVersions request, or `none`; whether it comes first; the first correlation id; and whether
    the first request besides it has a lower correlation id, as of clients that number a request before they have a
    connection for it.
    """
    id_ = F.col("first.correlation_id")
    is_first = F.when(F.col("first.api_key") == int(ApiKey.API_VERSIONS), "first").otherwise("later")
    numbered = F.when(id_.isin(0, 1), id_.cast("string")).otherwise("more")
    overtakes = F.when(F.col("first_work.correlation_id") < id_, "overtakes")
    return F.concat_ws(" ", _asked(), is_first, numbered, overtakes)


def _asked() -> Column:
    return F.coalesce(F.get("attempts", F.lit(0))["version"].cast("string"), F.lit("none"))


def beginning() -> Column:
    """Return how a connection begins and what its client asks first; null if it asks nothing."""
    return F.when(F.col("first_work").isNotNull(), F.concat_ws(" ", handshake(), _first_work()))


def _first_work() -> Column:
    return F.concat_ws(" ", "first_work.api_name", F.col("first_work.api_version").cast("string"))


def columns(is_unknown: Column) -> Columns:
    """Return the columns on the probable library, for connections without a name."""
    begins = (F.col("start") == "observed") & ~F.col("has_sasl")
    begins_with_sasl = (F.col("start") == "hidden_by_sasl") | F.col("has_sasl")
    left = []
    for number in range(number_of_words()):
        how = F.coalesce(looked_up(_word(by_handshake(), number), handshake()), F.lit(0))
        first = F.coalesce(looked_up(_word(by_beginning(), number), beginning()), F.lit(_ALL))
        work = F.coalesce(looked_up(_word(by_first_work(), number), _first_work()), F.lit(_ALL))
        of_begin = F.when(begins, how.bitwiseAND(first)).when(begins_with_sasl, work).otherwise(F.lit(_ALL))
        left.append(F.col(f"senders_{number}").bitwiseAND(of_begin))
    fitting = F.filter(_releases(), lambda one: _has_bit(one, left))
    is_judged = is_unknown & F.col("is_telling") & (F.col("first.log_generation") == "json")
    names = F.array_distinct(F.transform(fitting, lambda one: one["software"]))
    is_one = is_judged & (F.size(names) == 1)
    last = F.get(fitting, F.size(fitting) - 1)
    evidence = F.concat(
        F.lit("versions of its requests"),
        F.when(begins, F.concat(F.lit("; begins with: "), F.coalesce(beginning(), handshake()))).otherwise(""),
    )
    return {
        "probable_software_name": F.when(is_one, F.get(names, F.lit(0))),
        "probable_versions_from": F.when(is_one, F.get(fitting, F.lit(0))["versions_from"]),
        "probable_versions_to": F.when(is_one, last["versions_to"]),
        "probable_evidence": F.when(is_one, evidence),
    }


def _releases() -> Column:
    """Return an array of all releases, each with its bit in one of the words."""
    return F.array(
        *(
            F.struct(
                *(F.lit(word).cast("bigint").alias(f"bit_{place}") for place, word in enumerate(words([number]))),
                F.lit(one.software).alias("software"),
                F.lit(one.versions_from).alias("versions_from"),
                F.lit(one.versions_to).alias("versions_to"),
            )
            for number, one in enumerate(client_signatures())
        )
    )


def _has_bit(one: Column, left: list[Column]) -> Column:
    conditions = [one[f"bit_{place}"].bitwiseAND(word) != 0 for place, word in enumerate(left)]
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def _word(masks: Mapping[str, Words], number: int) -> dict[str, int]:
    return {text: found[number] for text, found in masks.items()}
