"""Examples of requests, with which a user finds the record in the log.

The expression for grep costs more than the rest of an example, so there are two steps: aggregations keep the fields of
a request from which an example is made (`source`), and only the few requests that remain get the expression (`example`).
"""

from .engine import Column, F

_LOCAL_TIME = "yyyy-MM-dd HH:mm:ss,SSS"


def source() -> Column:
    """Return a struct of the fields from which `example` is made; a connection's structs sort in log order."""
    # A client id with a newline moves the correlation id to a later line, which the expression can't match.
    one_line = ~F.coalesce(F.col("client_id").contains("\n"), F.lit(False))
    return F.struct("logged_at", "correlation_id", "log_generation", one_line.alias("one_line"))


def example(column: str, log_zone: str) -> Column:
    """Return the example of a request; `column` names the column with its `source`.

    Its grep is an extended regular expression for the request's time, in the log's zone, and its correlation id.
    """
    generation, number = F.col(f"{column}.log_generation"), F.col(f"{column}.correlation_id").cast("string")
    local_time = F.date_format(F.from_utc_timestamp(F.col(f"{column}.logged_at"), log_zone), _LOCAL_TIME)
    grep = F.concat(
        F.lit(r"^\["),
        local_time,
        F.lit(r"\] [A-Z]+ Completed request:"),
        F.when(generation == "json", F.concat(F.lit('.*"correlationId":'), number, F.lit(",")))
        .when(
            F.col(f"{column}.one_line") & (generation == "request_header_struct"),
            F.concat(F.lit(".*correlationId="), number, F.lit(r"\)")),
        )
        .when(generation == "api_key_struct", F.concat(F.lit(".*correlation_id="), number, F.lit(",")))
        .when(generation == "name_text", F.concat(F.lit(".*CorrelationId: ?"), number, F.lit(";")))
        .otherwise(F.lit("")),
    )
    filled = F.struct(f"{column}.logged_at", f"{column}.correlation_id", grep.alias("grep"))
    return F.when(F.col(column).isNotNull(), filled)
