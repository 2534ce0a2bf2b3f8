"""Tables about the whole fleet: who uses a cluster, and how many connections each software holds open (KIP-511)."""

from ...connections.concern import Concern
from . import broker_hosts, client_connections, client_inventory

CONCERN = Concern(
    name="fleet",
    transforms={
        "broker_hosts": broker_hosts.transform,
        "client_connections": client_connections.transform,
        "client_inventory": client_inventory.transform,
    },
)
