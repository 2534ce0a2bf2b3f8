"""How the client of a connection behaves, and which releases of libraries may be behind it; read by client_software."""

from ...connections.concern import Concern
from . import facts

CONCERN = Concern(
    name="client_behaviour",
    aggregates=facts.aggregates,
    after=("api_versions",),
    columns=facts.columns,
)
