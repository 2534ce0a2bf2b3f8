"""Examples of requests: enough to find the record in the log.

An example is made in two steps, as its expression for grep costs more than all else in it: an aggregation keeps the
fields of the request that it needs (`place`), and the few examples that are kept get their expression (`example`).
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

_LOCAL_TIME = "yyyy-MM-dd HH:mm:ss,SSS"


def place() -> Column:
    """Keeps of a request what its example is made from; structs of one connection sort in the order of its requests."""
    # A client id with a newline puts the correlation id on a later line, where an expression cannot reach it.
    one_line = ~F.coalesce(F.col("client_id").contains("\n"), F.lit(False))
    return F.struct("logged_at", "correlation_id", "log_generation", one_line.alias("one_line"))


def example(kept: str, log_zone: str) -> Column:
    """Makes the example of a request that `place` has kept in the column `kept`.

    Its grep is an extended regular expression for the request's time, in the log's zone, and its correlation id.
    """
    generation, number = F.col(f"{kept}.log_generation"), F.col(f"{kept}.correlation_id").cast("string")
    begin = F.concat(time_pattern(F.col(f"{kept}.logged_at"), log_zone), F.lit(r"\] [A-Z]+ Completed request:"))
    grep = F.concat(
        begin,
        F.when(generation == "json", F.concat(F.lit('.*"correlationId":'), number, F.lit(",")))
        .when(
            F.col(f"{kept}.one_line") & (generation == "request_header_struct"),
            F.concat(F.lit(".*correlationId="), number, F.lit(r"\)")),
        )
        .when(generation == "api_key_struct", F.concat(F.lit(".*correlation_id="), number, F.lit(",")))
        .when(generation == "name_text", F.concat(F.lit(".*CorrelationId: ?"), number, F.lit(";")))
        .otherwise(F.lit("")),
    )
    found = F.struct(
        F.col(f"{kept}.logged_at").alias("logged_at"),
        F.col(f"{kept}.correlation_id").alias("correlation_id"),
        grep.alias("grep"),
    )
    return F.when(F.col(kept).isNotNull(), found)


def time_pattern(at: Column, log_zone: str) -> Column:
    """Begins an expression for grep with a record's time as it stands in the log."""
    return F.concat(F.lit(r"^\["), F.date_format(F.from_utc_timestamp(at, log_zone), _LOCAL_TIME))
