"""How the client of a connection behaves when it begins; read by client_releases and client_software."""

from ...connections.concern import Concern
from . import facts

CONCERN = Concern(
    name="client_behaviour",
    aggregates=facts.aggregates,
    after=("api_versions",),
    columns=facts.columns,
)
