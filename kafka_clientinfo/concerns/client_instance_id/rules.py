"""What clients do wrong with client instance ids; the words beside it are in schemas/rules/client_instance_id.toml."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...connections import RequestRule, example_without_id, is_client, request_name, sentence, shown, time_pattern
from ...settings import Settings
from .facts import begins_with_header_v3


def _is_bound() -> Column:
    """Tells whether KIP-1313's rule binds a connection: its first request is in the log, and has header v3."""
    return is_client() & begins_with_header_v3() & (F.col("start") == "observed")


REQUEST_RULES = {
    "instance_id_zero": RequestRule(
        "instance_id_is_zero", lambda: sentence(request_name(), " has header v3 and the zero id"), _is_bound
    ),
    "instance_id_missing": RequestRule(
        "instance_id_is_missing", lambda: sentence(request_name(), " has no client instance id"), _is_bound
    ),
    "instance_id_different": RequestRule(
        "instance_id_is_different",
        lambda: sentence(
            "client instance id ", shown(F.col("client_instance_id")), " after ", shown(F.col("first_instance_id"))
        ),
        _is_bound,
    ),
}


def findings_on_two_hosts(client_instances: DataFrame, settings: Settings) -> DataFrame:
    """Finds connections that carry a client instance id while another host is connected with it, by connection id.

    Whether two connections overlap may show only when the other one goes on, so these rows are made anew from all
    connections with every run, like those of groups; a connection's key would tie them to the runs that read it.
    """
    met = client_instances.select("cluster", "instance_id", F.explode("two_hosts_connections").alias("met"))
    opened = F.col("met.opened_at")
    quoted = F.regexp_replace("met.connection_id", r"[\\\[\](){}.*+?^$|]", r"\\$0")
    # The id stands in JSON records only, whose connection is on the record's one line.
    record = F.lit(r'\] [A-Z]+ Completed request:.*"connection":"')
    grep = F.concat(time_pattern(opened, settings.log_zone), record, quoted, F.lit('"'))
    message = sentence(
        "client instance id ", shown(F.col("instance_id")), " from ", F.col("met.remote_host"),
        " while ", F.col("met.other_host"), " is connected with it",
    )  # fmt: skip
    place = F.struct(opened, F.col("instance_id"))
    folded = met.groupBy(
        "cluster", F.col("met.broker").alias("broker"), F.col("met.connection_id").alias("connection_id")
    ).agg(
        F.count("*").alias("occurrences"),
        F.min(opened).alias("first_at"),
        F.max(opened).alias("last_at"),
        F.min_by(example_without_id(opened, grep), place).alias("example"),
        F.min_by(message, place).alias("message"),
    )
    nothing = {"opened_at": "timestamp", "opened_seq": "int", "group_id": "string"}
    return folded.withColumns(
        {
            "rule": F.lit("client_instance_id_on_two_hosts"),
            **{name: F.lit(None).cast(kind) for name, kind in nothing.items()},
        }
    )
