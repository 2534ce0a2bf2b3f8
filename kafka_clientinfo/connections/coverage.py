"""Coverage: the periods in which a broker's log holds every request.

A log holds every request only at DEBUG (or TRACE). While a broker logs nothing at that level, its level may have been
switched, or a file may be missing. So a covered period is a sequence of one broker's runs of requests
(`ingested_files.debug_runs`), in the order of its files. A new period begins after

    a hole                                                        | reason
    --------------------------------------------------------------|---------------------------------------------------
    a silence of more than coverage_gap_ms, within a file or      | requests may be missing
    between two files                                             |
    a silence of more than a second in which server.log reports   | the broker was down or may have logged at another
    that the request logger's level was set, or a start           | level
    a silence of more than a second before a request that sets    | the request may have raised the level
    levels of loggers                                             |
    a start of the broker that a file's first requests show       | all connections are new

These requests belong to no period:
- a request at INFO, unless the period continues after it;
- all requests of a file with more silences than are stored, if every stored one is longer than coverage_gap_ms;
- all requests of a log that was sampled or filtered, because silence in it shows nothing. Such a log has missing
  correlation ids (see `ingestion.omissions`), or it has software names although no ApiVersions request is logged.
"""

from ..config.settings import Settings
from ..logs.broker_events import LOGGER_SET
from ..tables.spec import EVIDENCE, FILE_ORDER, MOST_DEBUG_RUNS
from .engine import Column, DataFrame, F, Window
from .starts import SECOND, broker_events, broker_starts, number_before, shown_restarts, starts_of_brokers

_AT_START = 2 * SECOND
"""The microseconds after the end of its start in which a broker at DEBUG logs its first request."""
_YEARS_MS = 10 * 365 * 86_400_000
"""Replaces a connections.max.idle.ms below 0, with which a broker never closes idle connections."""
_BROKER = ("cluster", "broker")
_BOUNDS = ("first_logged_at", "last_logged_at", "step_back_ms")
"""Columns of a file that bound the times of its requests; step_back_ms is how far these go back at most."""
_FIRST = "1970-01-01"


def in_order(ingested_files: DataFrame) -> DataFrame:
    """Return the files that have requests with file_no, which orders the files of a broker."""
    order = Window.partitionBy(*_BROKER).orderBy(*FILE_ORDER)
    has_requests = ingested_files.where(F.col("first_logged_at").isNotNull())
    return has_requests.withColumn("file_no", F.row_number().over(order))


def with_log_position(requests: DataFrame, log_positions: DataFrame) -> DataFrame:
    """Add to requests the position of their file in their broker's log, and the coverage of the log there.

    Args:
        requests: rows of the table `requests`, with `carried`, which holds log_level.
        log_positions: as the function of that name returns it.

    Returns:
        The requests with
        - broker_no, a number for each cluster and broker;
        - file_no, which orders the files of a broker;
        - starts_before, the number of the broker's starts before the request was logged;
        - period, the number of the broker's period; null at INFO or outside a period; and
        - coverage, a struct of
          - since: when the period began; null outside a period;
          - started_at: when the broker started, if its start began the period; else null;
          - max_idle_ms: the setting, or the broker's own limit according to its log if that is more;
          - is_complete: false if the log was sampled or filtered; true if nothing shows that and ApiVersions is logged;
            null if the broker's log holds neither ApiVersions nor a software name.
    """
    joined = requests.join(F.broadcast(log_positions), on="file_id", how="inner")
    reached = F.filter("later_parts", lambda part: part["offset"] <= F.col("byte_offset"))
    part = F.when(F.col("later_parts").isNull(), F.col("first_part")).otherwise(F.element_at(reached, -1))
    starts_before = F.col("starts_before_file") + number_before(F.col("starts_in_file"), F.col("logged_at"))
    located = joined.select(
        *requests.columns, "broker_no", "file_no", starts_before.alias("starts_before"), part.alias("part")
    )
    return located.select(
        *requests.columns,
        "broker_no",
        "file_no",
        "starts_before",
        F.when(F.col("carried.log_level") != "INFO", F.col("part.period")).alias("period"),
        F.col("part.coverage").alias("coverage"),
    )


def reports(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Find the reports that change boundaries of connections or periods of logs.

    These are starts, changes of log levels, higher idle limits, and evidence that a log is complete or not.

    Args:
        ingested_files: the table `ingested_files`; broker_events and debug_runs are used.
        settings: see `log_positions`.

    Returns:
        One row per report: cluster, broker; since, the time from which the report may change results; and ingested_at,
        the run that read it.
    """
    # A report counts for a run that begins up to a second before it (see `_is_in_silence`).
    second = F.make_dt_interval(secs=F.lit(1))
    starts = broker_starts(ingested_files).unionByName(shown_restarts(ingested_files))
    starts = starts.select(*_BROKER, (F.col("since") - second).alias("since"), "ingested_at")
    events = broker_events(ingested_files)
    levels = events.where(_sets_level()).select(*_BROKER, (F.col("at") - second).alias("since"), "ingested_at")
    # A broker states its limit again at each start; only a higher one than before is new.
    earlier = Window.partitionBy(*_BROKER).orderBy("ingested_at").rowsBetween(Window.unboundedPreceding, -1)
    stated = (
        events.where(F.col("kind") == "max_idle_ms")
        .groupBy(*_BROKER, "ingested_at")
        .agg(F.max(_stated_idle()).alias("idle"))
    )
    raised = stated.withColumn("before", F.max("idle").over(earlier))
    limits = raised.where(F.col("before").isNull() | (F.col("idle") > F.col("before")))
    first = F.lit(_FIRST).cast("timestamp").alias("since")
    stated = limits.select(*_BROKER, "ingested_at").unionByName(_changes(ingested_files, settings))
    return starts.unionByName(levels).unionByName(stated.select(*_BROKER, first, "ingested_at"))


def _changes(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Find the ingestions that changed whether a log counts as complete: cluster, broker and ingested_at."""
    periods = _in_periods(_runs(ingested_files), settings).groupBy(*_BROKER, "period")
    brokers = ingested_files.select(*_BROKER, F.explode("debug_runs").alias("run")).groupBy(*_BROKER)
    omissions = periods.agg(F.min("omission").alias("sign"), F.min("continuity").alias("contrary"))
    names = brokers.agg(F.min("run.software_name").alias("sign"), F.min("run.api_versions").alias("contrary"))
    sign, contrary = F.col("sign"), F.col("contrary")
    # A sign that is read after contrary evidence changes nothing.
    first = F.when(contrary.isNull() | (sign < contrary), sign)
    of_omissions = omissions.select(*_BROKER, F.array(first, F.when(sign < contrary, contrary)).alias("times"))
    of_names = names.select(*_BROKER, F.array(first, contrary).alias("times"))
    changes = of_omissions.unionByName(of_names)
    return changes.select(*_BROKER, F.explode(F.array_compact("times")).alias("ingested_at"))


def _sets_level() -> Column:
    """Return whether an event sets, or may set, the level of the request logger."""
    return F.col("kind").isin("log_level", LOGGER_SET)


def _stated_idle() -> Column:
    """Return the connections.max.idle.ms that an event states; one below 0 becomes a time of years."""
    idle = F.when(F.col("kind") == "max_idle_ms", F.col("value")).cast("bigint")
    return F.when(idle < 0, F.lit(_YEARS_MS)).otherwise(idle)


def log_positions(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Divide files into parts, in each of which all requests belong to one period, or none do.

    Args:
        ingested_files: the table `ingested_files`, with all files of the brokers that occur.
        settings: `max_idle_ms` and `coverage_gap_ms` are used.

    Returns:
        One row per file with requests: file_id; broker_no and file_no (see `with_log_position`); first_part, which
        begins at offset 0; later_parts, all parts in order of their offsets, or null if there is only one;
        starts_before_file, the number of the broker's starts before the file; and starts_in_file, the times of its
        starts during the file; only these are compared with each request.
    """
    runs = _in_periods(_runs(ingested_files), settings)
    may_be_one = ~F.col("is_blind") & F.coalesce("is_complete", F.lit(True))
    number = F.when(may_be_one & F.col("is_in_period"), F.col("period"))
    began = F.col("opening.since")
    coverage = F.struct(
        F.when(number.isNotNull(), began).alias("since"),
        F.when(number.isNotNull(), F.col("opening.started_at")).alias("started_at"),
        "max_idle_ms",
        F.when(F.col("is_in_period"), F.col("is_complete")).alias("is_complete"),
    )
    nothing = F.struct(
        F.lit(None).cast("timestamp").alias("since"),
        F.lit(None).cast("timestamp").alias("started_at"),
        "max_idle_ms",
        F.lit(None).cast("boolean").alias("is_complete"),
    )
    none, has_info = F.lit(None).cast("bigint"), F.col("info_requests") > 0
    # If a period begins at offset 0, make no part before it: of two parts with one offset, Spark and DuckDB take
    # different ones.
    begins_inside = F.col("is_first") & F.col("is_new") & has_info & (F.col("began_offset") > 0)
    offset = F.when(F.col("is_first") & ~begins_inside, F.lit(0)).otherwise(F.col("began_offset"))
    has_end = F.col("began_at").isNotNull() & F.col("ends_here") & has_info
    parts = F.array(
        F.when(begins_inside, _part(F.lit(0).cast("bigint"), none, nothing)),
        F.when(F.col("is_first") | F.col("is_new"), _part(offset, number, coverage)),
        F.when(has_end, _part(F.col("ended_offset") + 1, none, nothing)),
    )
    of_file = runs.groupBy(*_BROKER, "file_id", "file_no").agg(
        F.collect_list(parts).alias("parts"), *(F.first(name).alias(name) for name in (*_BOUNDS, "starts"))
    )
    listed = F.sort_array(F.filter(F.flatten("parts"), lambda part: part.isNotNull()))
    earliest = F.col("first_logged_at") - F.make_dt_interval(secs=F.col("step_back_ms") / 1000)
    sorted_ = of_file.withColumns({"parts": listed, "earliest": earliest})
    starts_in_file = F.filter("starts", lambda start: (start >= F.col("earliest")) & (start < F.col("last_logged_at")))
    # With a partition, because Spark Connect warns of windows without one.
    brokers = Window.partitionBy(F.lit(0)).orderBy(*_BROKER)
    return sorted_.select(
        "file_id",
        F.dense_rank().over(brokers).alias("broker_no"),
        "file_no",
        F.get("parts", F.lit(0)).alias("first_part"),
        F.when(F.size("parts") > 1, F.col("parts")).alias("later_parts"),
        number_before(F.col("starts"), F.col("earliest")).alias("starts_before_file"),
        starts_in_file.alias("starts_in_file"),
    )


def log_coverage(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Return the rows of `log_coverage_parts`: over which times a broker's log shows what did not happen.

    Args:
        ingested_files: the table `ingested_files`, with all files of the brokers that occur.
        settings: as for `log_positions`.
    """
    runs = _in_periods(_runs(ingested_files), settings)
    files = ingested_files.groupBy(*_BROKER).agg(F.max("ingested_at").alias("ingested_at"))
    rows = _newest_period(runs).join(_whole_periods(runs), on=list(_BROKER), how="left")
    rows = rows.join(starts_of_brokers(ingested_files), on=list(_BROKER), how="left")
    none = F.array().cast("array<timestamp>")
    return rows.join(files, on=list(_BROKER), how="inner").withColumn("starts", F.coalesce("starts", none))


def _newest_period(runs: DataFrame) -> DataFrame:
    """Return each broker's newest period: cluster, broker, covered_from and covered_until.

    Both times are null if the broker's log does not hold every request, as at INFO, sampled or filtered.
    """
    newest = F.max("period").over(Window.partitionBy(*_BROKER))
    counts = F.col("is_in_period") & ~F.col("is_blind") & F.coalesce("is_complete", F.lit(True))
    is_whole = F.col("began_at").isNotNull() & (F.col("period") == newest) & counts
    covered = runs.withColumn("covers", is_whole)
    return covered.groupBy(*_BROKER).agg(
        F.min(F.when(F.col("covers"), F.col("opening.since"))).alias("covered_from"),
        F.max(F.when(F.col("covers"), F.col("ended_at"))).alias("covered_until"),
    )


def _whole_periods(runs: DataFrame) -> DataFrame:
    """Return each broker's whole_periods: those in which its log holds every request for sure, in order."""
    is_whole = F.col("began_at").isNotNull() & ~F.col("is_blind") & F.coalesce("is_complete", F.lit(False))
    periods = runs.where(is_whole).groupBy(*_BROKER, "period").agg(
        F.min("began_at").alias("whole_from"),
        F.max("ended_at").alias("whole_until"),
        F.max("max_idle_ms").alias("max_idle_ms"),
    )  # fmt: skip
    period = F.struct("whole_from", "whole_until", "max_idle_ms")
    return periods.groupBy(*_BROKER).agg(F.array_sort(F.collect_list(period)).alias("whole_periods"))


def _part(offset: Column, period: Column, coverage: Column) -> Column:
    fields = offset.cast("bigint").alias("offset"), period.alias("period"), coverage.alias("coverage")
    return F.struct(*fields)


def _runs(ingested_files: DataFrame) -> DataFrame:
    """Return one row per run of a file, with the events of its broker; a file without runs has one row of nulls."""
    times = (F.lit(None).cast("timestamp").alias(name) for name in ("began_at", "ended_at"))
    offsets = (F.lit(None).cast("bigint").alias(name) for name in ("began_offset", "ended_offset"))
    evidence = (F.lit(None).cast("timestamp").alias(name) for name in EVIDENCE)
    number = F.coalesce(F.size("debug_runs"), F.lit(0))
    runs = F.when(number > 0, F.col("debug_runs")).otherwise(F.array(F.struct(*times, *offsets, *evidence)))
    files = in_order(ingested_files).select(
        *_BROKER,
        "file_id",
        "file_no",
        *_BOUNDS,
        "covers_broker_start",
        F.coalesce("info_requests", F.lit(0)).alias("info_requests"),
        (number >= MOST_DEBUG_RUNS).alias("is_full"),
        F.explode(runs).alias("run"),
    )
    rows = files.select(*(name for name in files.columns if name != "run"), "run.*")
    return rows.join(F.broadcast(_events_by_broker(ingested_files)), on=list(_BROKER), how="left")


def _events_by_broker(ingested_files: DataFrame) -> DataFrame:
    """Collect per broker the times of its events: levels, served and starts (arrays), and stated_idle_ms."""
    logged = (
        broker_events(ingested_files)
        .groupBy(*_BROKER)
        .agg(
            F.collect_list(F.when(_sets_level(), F.col("at"))).alias("levels"),
            F.collect_list(F.when(F.col("kind") == "started", F.col("at"))).alias("served"),
            F.max(_stated_idle()).alias("stated_idle_ms"),
        )
    )
    return logged.join(starts_of_brokers(ingested_files), on=list(_BROKER), how="full_outer")


def _in_periods(runs: DataFrame, settings: Settings) -> DataFrame:
    """Add to runs the period to which they belong.

    Returns:
        The runs with
        - is_first: whether the run is the first of its file;
        - is_new: whether a period begins with the run;
        - is_blind: whether the file has more silences than are stored, and some may be holes;
        - period, the number of the period, and opening, its since and started_at (see `with_log_position`);
        - is_in_period: whether the row is a run, or a file with INFO only that lies inside a period;
        - ends_here: whether no later run belongs to the period;
        - max_idle_ms and is_complete (see `with_log_position`).
    """
    order = Window.partitionBy(*_BROKER).orderBy("file_no", "began_offset")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    of_file = Window.partitionBy(*_BROKER, "file_no")
    same_file = F.coalesce(F.lag("file_no").over(order) == F.col("file_no"), F.lit(False))
    silent_since = F.when(same_file, F.lag("ended_at").over(order)).otherwise(F.max("ended_at").over(before))
    follow = runs.select("*", (~same_file).alias("is_first"), silent_since.alias("silent_since"))
    silent = follow.withColumns(
        {
            "silence": F.unix_micros("began_at") - F.unix_micros("silent_since"),
            "run_before_began_at": F.lag("began_at").over(order),
        }
    )
    silence_in_file = F.when(~F.col("is_first"), F.col("silence"))
    gap = settings.coverage_gap_ms * 1000
    is_blind = F.coalesce(F.col("is_full") & (F.min(silence_in_file).over(of_file) > gap), F.lit(False))
    start = F.array_max(F.filter("starts", _is_in_silence))
    with_start = silent.select("*", is_blind.alias("is_blind"), start.alias("start"))
    judged = with_start.withColumn("started_at", _started_at())
    is_new = F.col("began_at").isNotNull() & F.coalesce(
        F.col("silent_since").isNull()
        | (F.col("silence") > gap)
        | ((F.col("silence") > SECOND) & _holds_report())
        | (F.col("is_first") & F.col("covers_broker_start"))
        | F.col("is_blind")
        | F.lag("is_blind").over(order),
        F.lit(False),
    )
    cut = judged.withColumn("is_new", is_new)
    up_to_now = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    opening = F.when(F.col("is_new"), F.struct(F.col("began_at").alias("since"), "started_at"))
    # In reverse order, because Spark reads a frame that ends at the last row again for every row.
    later = Window.partitionBy(*_BROKER).orderBy(-F.col("file_no"), -F.col("began_offset"))
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    next_is_new = F.last(F.when(F.col("began_at").isNotNull(), F.col("is_new")), ignorenulls=True).over(later)
    numbered = cut.select(
        *(name for name in cut.columns if name != "started_at"),
        F.sum(F.col("is_new").cast("int")).over(up_to_now).alias("period"),
        F.last(opening, ignorenulls=True).over(up_to_now).alias("opening"),
        F.coalesce(next_is_new, F.lit(True)).alias("ends_here"),
        F.greatest(F.lit(settings.max_idle_ms), F.col("stated_idle_ms")).cast("bigint").alias("max_idle_ms"),
    )
    is_in_period = F.col("began_at").isNotNull() | ~F.col("ends_here")
    return numbered.withColumns({"is_in_period": is_in_period, "is_complete": _is_complete()})


def _is_complete() -> Column:
    """Return whether the log around a run is complete; see `with_log_position`."""
    of_broker = Window.partitionBy(*_BROKER)
    of_period = Window.partitionBy(*_BROKER, "period")
    has_omission = F.max("omission").over(of_period).isNotNull() & F.max("continuity").over(of_period).isNull()
    has_names = F.max("software_name").over(of_broker).isNotNull()
    return (
        F.when(has_omission, F.lit(False))
        .when(F.max("api_versions").over(of_broker).isNotNull(), F.lit(True))
        .when(has_names, F.lit(False))
    )


def _is_in_silence(at: Column) -> Column:
    """Return whether a time is in the silence before a run, or at most a second outside it, because records come late.

    A time before the beginning of the previous run belongs to an earlier silence, however short that run is.
    """
    after_silence_began = F.coalesce(F.unix_micros(at) >= F.unix_micros("silent_since") - SECOND, F.lit(True))
    after_previous_run_began = F.coalesce(at >= F.col("run_before_began_at"), F.lit(True))
    return after_silence_began & after_previous_run_began & (F.unix_micros(at) <= F.unix_micros("began_at") + SECOND)


def _holds_report() -> Column:
    is_set = F.coalesce(F.exists("levels", _is_in_silence), F.lit(False))
    return is_set | F.coalesce(F.exists("starts", _is_in_silence), F.lit(False))


def _started_at() -> Column:
    """Return the time of the start with which a run begins, from the file's requests or from server.log; else null.

    A start from server.log counts only if the broker logged requests as soon as it served its listeners and no level
    was set meanwhile. Else it may have started at another level: Kafka 2.4 to 3.1 don't log that a level was set.
    """
    served_before = F.exists(
        "served",
        lambda at: (at >= F.col("start")) & (F.unix_micros(at) < F.unix_micros("began_at") - _AT_START),
    )
    set_since = F.exists("levels", lambda at: (at >= F.col("start")) & _is_in_silence(at))
    was_set = F.coalesce(served_before, F.lit(False)) | F.coalesce(set_since, F.lit(False))
    stated = F.when(~was_set, F.col("start"))
    shown = F.when(F.col("is_first") & F.col("covers_broker_start"), F.col("began_at"))
    return F.coalesce(shown, stated)
