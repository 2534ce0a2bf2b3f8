"""What a message says of requests that brokers refuse already, and of topics and groups that may be another program's."""

from datetime import UTC, datetime

import pytest

from kafka_clientinfo.commands import message_text, messages
from kafka_clientinfo.commands.message_text import Facts
from kafka_clientinfo.commands.ownership import OwnerImpact
from kafka_clientinfo.config.owners import Owner
from kafka_clientinfo.questions.losses import Lost
from kafka_clientinfo.tables import spec
from kafka_clientinfo.tables.spec import CLIENT
from tests.commands.fleet_on_disk import TARGET

AT = datetime(2026, 11, 21, 18, 55, tzinfo=UTC)
SENDER = {
    "cluster": "c", "broker": "broker-3", "remote_host": "h", "requests": 215, "first_at": AT, "last_at": AT, "is_known": False,
    "principal": None, "client_id": None, "client_software_name": None, "client_software_version": None,
}  # fmt: skip
KNOWN = SENDER | {
    "is_known": True, "principal": "User:p", "client_id": "a*pp", "client_software_name": "unknown", "client_software_version": "unknown",
}  # fmt: skip
OF_HOST = "Broker broker-3 of cluster c has refused 215 requests from h since 2026-11-21 18:55, the last one at 2026-11-21 18:55"


def test_what_brokers_refuse_from_its_hosts_already_comes_first() -> None:
    other = SENDER | {"remote_host": "elsewhere"}
    impacts: dict[Owner | None, OwnerImpact] = {
        Owner("refused"): OwnerImpact(hosts={("c", "h")}),
        Owner("fine"): OwnerImpact(hosts={("other", "h")}),
    }
    (message,) = messages.messages(impacts, Facts(TARGET, refused=[SENDER, other]))
    assert message.owner == Owner("refused")
    title, refused = message.markdown.split("\n## ")[:2]
    assert title.startswith(
        f"# Kafka {TARGET}: no client of refused would stop working; some of their hosts' requests are refused already\n"
    )
    assert refused.startswith(f"Refused already\n\n- {OF_HOST}.\n")
    assert "Which client of a host sent the requests without a client, the logs do not say" in refused


def test_a_message_names_the_logs_of_the_clusters_of_its_clients_only() -> None:
    impacts: dict[Owner | None, OwnerImpact] = {Owner("its"): OwnerImpact(hosts={("c", "h")}, refused_senders=[KNOWN])}
    limits = {"c": ["Logs of c."], "other": ["Logs of another."]}
    (message,) = messages.messages(impacts, Facts(TARGET, limits, refused=[KNOWN]))
    assert "\n## How this is known\n\n- Logs of c.\n" in message.markdown


def test_a_client_that_is_refused_already_is_named_to_its_owner_alone() -> None:
    impacts: dict[Owner | None, OwnerImpact] = {
        Owner("its"): OwnerImpact(hosts={("c", "h")}, refused_senders=[KNOWN], refused_already=1),
        Owner("same host"): OwnerImpact(hosts={("c", "h")}),
    }
    (message,) = messages.messages(impacts, Facts(TARGET, refused=[KNOWN]))
    assert message.owner == Owner("its")
    title, refused = message.markdown.split("\n## ")[:2]
    assert title.startswith(
        f"# Kafka {TARGET}: no client of its would stop working; requests of 1 client are refused already\n"
    )
    assert (
        "1 client already cannot do all that is tried, as today's brokers refuse some requests. A client is a program"
        in title
    )
    assert refused.startswith(f"Refused already\n\n- {OF_HOST}: client a\\*pp (unknown, principal User:p).\n")
    assert "the logs do not say" not in refused


@pytest.mark.parametrize(
    ("clients", "title"),
    [
        ({"refused": 1}, "your client app\\* would stop working"),
        ({"refused": 1, "accepted": 1}, "1 of 2 clients of Search would stop working"),
        ({"accepted": 1}, "no client of Search would stop working"),
    ],
)
def test_the_title_names_the_only_client(clients: dict[str, int], title: str) -> None:
    impact = OwnerImpact(uses=[{"client_id": "app*", "verdict": "refused"}])
    impact.clients |= clients
    assert message_text._title(Owner("Search"), impact, "4.0.1") == f"Kafka 4.0.1: {title}"


def test_topics_and_groups_that_only_may_be_its_own_are_called_so() -> None:
    row = KNOWN | {
        "client_software_name": "kgo",
        "api_name": "PRODUCE",
        "api_version": 2,
        "verdict": "refused",
        "all_hosts": {"h"},
    }
    row |= {"reason": "below_range", "refused_from": None, "first_seen": AT, "last_seen": AT}
    row |= dict.fromkeys(("library", *spec.ADVICE))
    client = tuple(row[name] for name in CLIENT)
    lost = Lost({client: ["its"]}, {}, {client: ["any"]}, {client: ["g"]})
    text = message_text._changes([row], Facts(TARGET, lost=lost))
    others = "of clients with this id at that time,** some of which may be of other programs"
    assert f"- **Topics:** its\n- **Topics {others}: any\n- **Consumer groups {others}: g\n" in text
