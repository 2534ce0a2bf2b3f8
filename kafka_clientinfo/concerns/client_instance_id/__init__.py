"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""

from ...connections.concern import Concern, Finder
from ...connections.request_columns import Reads
from . import client_instances, facts, predicates, rules

CONCERN = Concern(
    name="client_instance_id",
    reads=Reads(made=predicates.reads),
    earlier=predicates.earlier,
    predicates=predicates.predicates,
    aggregates=facts.aggregates,
    columns=facts.columns,
    request_rules=rules.REQUEST_RULES,
    connection_rules=rules.connection_rules,
    finders=(
        Finder(rules.findings_on_two_hosts, ("client_instance_id_on_two_hosts",)),
        Finder(rules.findings_shared, ("client_instance_id_shared",)),
        Finder(rules.findings_renewed, ("client_instance_id_renewed",)),
        Finder(rules.findings_without_id, ("client_instance_id_on_some_connections",)),
    ),
    transforms={
        "client_instances": client_instances.transform,
    },
)
