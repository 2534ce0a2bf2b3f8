"""Whether a group message names the protocol that the member offered and the coordinator chose (KIP-559)."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections import request_name, sentence, shown
from ...protocol import ApiKey


def name_mismatch() -> Column:
    """Says in words which name a JoinGroup or SyncGroup differs from; null where it differs from none that is known.

    A member offers names in JoinGroup, the answer chooses one of them, and SyncGroup from v5 on repeats it, as does its
    answer. It reads `sent`, `told_name` and `joined` of a message.
    """
    stated, answered, chosen = F.col("sent.protocolName"), F.col("told_name"), F.col("joined.name")
    own_offer, offer = F.transform("sent.protocols", lambda p: p["name"]), F.col("joined.offered")
    is_join = F.col("api_key") == int(ApiKey.JOIN_GROUP)
    is_sync = (F.col("api_key") == int(ApiKey.SYNC_GROUP)) & (stated != "")
    request = sentence(request_name(), " with protocol name ", shown(stated))
    return (
        F.when(
            is_join & _is_not_in(answered, own_offer),
            sentence(request_name(), " was answered with protocol name ", shown(answered), " after offering ", _listed(own_offer)),
        )
        .when(is_sync & (answered != stated), sentence(request, " was answered with ", shown(answered)))
        .when(is_sync & (chosen != stated), sentence(request, " after JoinGroup chose ", shown(chosen)))
        .when(is_sync & _is_not_in(stated, offer), sentence(request, " after offering ", _listed(offer)))
    )  # fmt: skip


def _is_not_in(name: Column, offer: Column) -> Column:
    return (F.size(offer) > 0) & ~F.array_contains(offer, name)


def _listed(offer: Column) -> Column:
    return F.array_join(F.slice(F.transform(offer, lambda name: shown(name)), 1, 5), ", ")
