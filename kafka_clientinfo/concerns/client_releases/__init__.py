"""Which releases of libraries the client of a connection may be, by how it behaves; read by client_software."""

from ...connections.concern import Concern
from . import facts

CONCERN = Concern(
    name="client_releases",
    aggregates=facts.aggregates,
    after=("api_versions", "client_behaviour"),
    columns=facts.columns,
)
