"""The table `upgrade_impact`: who would break at each release, and to which release of its library it can be upgraded.

A client's library is known from its software name (KIP-511), else from a client id that a library chooses by default. A
release of the library fits if, as measured, it shares a version of every API that the client uses both with today's brokers
and with the target.

    the client's own release | advice
    -------------------------|------------------------------------------------------------------------------------------
    fits                     | `raise_setting`: the client is configured to use an older version
    does not fit             | `upgrade_to`: the first newer release that fits; `upgrade_newest`: the last one
    and no newer one fits    | `upgrade_to` and `upgrade_over`: first upgrade the brokers, to a release in between with which
                             | today's client still works (KIP-1124)

A release that was not measured fits if those that were measured before and after it fit.
"""

import re
from collections.abc import Sequence

from ...connections.engine import Column, DataFrame, F, SparkSession
from ...connections.offers import of_processes
from ...connections.starts import starts_of_brokers
from ...connections.texts import joined_by, looked_up
from ...protocol import UNKNOWN
from ...releases.broker_releases import TOO_OLD, release_numbers, releases
from ...releases.client_libraries import client_libraries
from ...spark.arrow_rows import relation_of
from ...tables.spec import ADVICE, CLIENT

_FITS = "library string, release string, numbers array<int>, api_key int, low int, high int, takes array<string>"
_NUMBERS = r"([0-9]{1,6}(?:\.[0-9]{1,6}){0,5})"
_LONGEST_OWN_ID = 255
"""The longest client id that is matched: libraries choose short ones."""


def transform(judged_usage: DataFrame, broker_api_versions: DataFrame, ingested_files: DataFrame) -> DataFrame:
    """Add to every client, API and version the advice for releases that refuse it.

    Returns:
        The rows of `judged_usage` with
        - library, null if it is not known;
        - upgrade_to, upgrade_newest: per release that refuses the row, the library's first and last release that fit;
        - raise_setting: instead of that, the setting that holds versions down, if the client's own release fits and the row's
          version is too old; and
        - upgrade_over: if that library release does not work with today's brokers, the release of Kafka to which the
          brokers must be upgraded first.
    """
    named = judged_usage.withColumn("library", _library())
    ranges = of_processes(broker_api_versions, starts_of_brokers(ingested_files)).where(F.col("is_newest"))
    joined = joined_by(named, F.broadcast(_advised(named, ranges)), CLIENT)
    return joined.withColumns({name: _refused_only(name) for name in ADVICE})


def _refused_only(advice: str) -> Column:
    """Return the advice for releases that refuse the row; at others the client may break because of another API.

    To raise a setting helps only at releases that refuse the version as too old.
    """
    refusals = F.map_entries("refused_by")
    if advice == "raise_setting":
        refusals = F.filter(refusals, lambda entry: entry["value"].isin(*TOO_OLD))
    of_row = F.transform(refusals, lambda entry: entry["key"])
    entries = F.coalesce(F.map_entries(advice), F.map_entries(F.create_map()))
    return F.map_from_entries(F.filter(entries, lambda entry: F.array_contains(of_row, entry["key"])))


def _library() -> Column:
    """Return the library's name, from the software name or else from the client id."""
    name, client_id = F.col("client_software_name"), F.col("client_id")
    by_software = {library.software: library.name for library in client_libraries() if library.software is not None}
    by_id = F.lit(None).cast("string")
    for library in client_libraries():
        if library.client_ids is not None:
            by_id = F.when(client_id.rlike(f"^(?:{library.client_ids})$"), library.name).otherwise(by_id)
    return F.when(name != UNKNOWN, looked_up(by_software, name)).when(F.length(client_id) <= _LONGEST_OWN_ID, by_id)


def _current() -> Column:
    """Return a client's release as a list of numbers; it is empty, and so lower than all others, if it is not known."""
    stated = F.regexp_extract("client_software_version", rf"^v?{_NUMBERS}", 1)
    in_id = F.lit("")
    for library in client_libraries():
        if library.client_ids is not None and re.compile(library.client_ids).groups:
            version = F.regexp_extract("client_id", f"^(?:{library.client_ids})$", 1)
            numbers = F.regexp_extract(version, rf"^{_NUMBERS}$", 1)
            in_id = F.when(F.col("library") == library.name, numbers).otherwise(in_id)
    text = F.when(stated != "", stated).when(F.col("client_software_name") == UNKNOWN, in_id).otherwise("")
    plain = F.regexp_replace(text, r"(\.0+)+$", "")  # 2.0 is 2.0.0
    return F.when(text == "", F.array()).otherwise(F.split(plain, r"\.").cast("array<int>"))


def _advised(named: DataFrame, ranges: DataFrame) -> DataFrame:
    """Return one row per client of a known library that a release refuses, with the advice.

    `ranges` are those that brokers have offered since their last start.
    """
    refusals = F.array_distinct(F.flatten(F.collect_list(F.map_keys("refused_by")))).alias("refusals")
    used = F.collect_list(F.struct("api_key", "api_version")).alias("used")
    clients = named.where(F.col("library").isNotNull()).groupBy(*CLIENT, "library").agg(refusals, used)
    broken = clients.where(F.size("refusals") > 0).withColumns({"current": _current(), "use": F.explode("used")})
    today = ranges.groupBy("cluster", "api_key").agg(
        F.max("min_version").alias("broker_min"), F.min("max_version").alias("broker_max")
    )
    uses = broken.select("*", "use.*").join(F.broadcast(today), on=["cluster", "api_key"], how="left")
    speakers = uses.join(F.broadcast(_fits(named.sparkSession)), on=["library", "api_key"], how="inner")
    # If no range is logged, the version that the client uses is known to work with today's brokers.
    fits_today = (F.col("low") <= F.coalesce("broker_max", "api_version")) & (
        F.col("high") >= F.coalesce("broker_min", "api_version")
    )
    by_release = speakers.groupBy(*CLIENT, "library", "refusals", "current", "numbers", "release").agg(
        F.bool_and(fits_today).alias("today"), F.collect_list("takes").alias("takes")
    )
    # In the order of the first list, which is that of the releases.
    taken = F.filter(
        F.get("takes", F.lit(0)), lambda broker: ~F.exists("takes", lambda takes: ~F.array_contains(takes, broker))
    )
    candidate = F.struct("numbers", "release", "today", taken.alias("takes"))
    is_newer = F.col("numbers") > F.col("current")
    candidates = by_release.groupBy(*CLIENT, "library", "refusals").agg(
        F.array_sort(F.collect_list(F.when(is_newer, candidate))).alias("candidates"),
        F.max(F.when(~is_newer, candidate)).alias("own"),
        F.bool_or(F.when(~is_newer, F.col("numbers") == F.col("current"))).alias("is_measured"),
    )
    return candidates.select(*CLIENT, *_ways())


def _ways() -> tuple[Column, ...]:
    """Choose, for each release that refuses the client, one of the ways in the module's table."""
    settings = {library.name: library.version_settings or UNKNOWN for library in client_libraries()}
    setting = looked_up(settings, F.col("library"))

    def works_now(brokers: Column) -> Column:
        return F.get(F.filter(brokers, lambda broker: ~F.array_contains("refusals", broker)), F.lit(0))

    def fits(candidate: Column, target: Column) -> Column:
        return candidate["today"] & F.array_contains(candidate["takes"], target)

    def way(target: Column) -> Column:
        next_one = F.get("candidates", F.lit(0))
        is_between = ~F.col("is_measured") & next_one.isNotNull()
        own_fits = F.coalesce(fits(F.col("own"), target) & (~is_between | fits(next_one, target)), F.lit(False))
        at_target = F.filter("candidates", lambda candidate: F.array_contains(candidate["takes"], target))
        at_once = F.filter(at_target, lambda candidate: candidate["today"])
        # The releases of Kafka in `takes` are in order; today's client works with those that do not refuse it.
        between = F.transform(at_target, lambda c: F.struct(c["release"], works_now(c["takes"]).alias("over")))
        over = F.get(F.filter(between, lambda candidate: candidate["over"].isNotNull()), F.lit(0))["over"]
        works = F.when(F.size(at_once) > 0, F.transform(at_once, lambda candidate: candidate["release"])).otherwise(
            F.transform(
                F.filter(between, lambda candidate: candidate["over"] == over), lambda candidate: candidate["release"]
            )
        )
        return F.struct(
            target.alias("target"),
            F.when(~own_fits, F.get(works, F.lit(0))).alias("upgrade_to"),
            F.when(~own_fits, F.get(works, F.size(works) - 1)).alias("upgrade_newest"),
            F.when(~own_fits & (F.size(at_once) == 0), over).alias("upgrade_over"),
            F.when(own_fits, setting).alias("raise_setting"),
        )

    ways = F.transform("refusals", way)

    def as_map(name: str) -> Column:
        known = F.filter(ways, lambda entry: entry[name].isNotNull())
        return F.map_from_entries(F.transform(known, lambda entry: F.struct(entry["target"], entry[name])))

    return tuple(as_map(name).alias(name) for name in ADVICE)


def _fits(spark: SparkSession) -> DataFrame:
    """Return, per release of a library and API, the releases of Kafka that accept one of its versions."""
    brokers = releases().items()
    rows = [
        (
            library.name,
            release.name,
            _without_zeros(release_numbers(release.name)),
            key,
            low,
            high,
            [name for name, broker in brokers if release.fits(key, broker)],
        )
        for library in client_libraries()
        for release in library.releases
        for key, (low, high) in release.speaks.items()
    ]
    return relation_of(spark, rows, _FITS)


def _without_zeros(numbers: Sequence[int]) -> list[int]:
    """Return the numbers of a release without zeros at the end, as `_current` does."""
    last = max((place for place, number in enumerate(numbers) if number), default=0)
    return list(numbers[: last + 1])
