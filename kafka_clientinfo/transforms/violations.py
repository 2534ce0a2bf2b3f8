"""What clients did against the rules: checks are column expressions that give a message or null.

A check looks at one request of a client's session, with what the session's first request fixed beside it. Requests
that break a rule fold to one row per rule and session, with the first of them as the example. Connections of
brokers and of forwarded requests make no violations, but for forged log lines: what makes a connection look like a
broker's is written by whoever opened it. What a group or a client instance does wrong on several connections together
is a row without a session. conf/client_policy.toml sets severities and takes rules out.

A rejected record makes no violation: what could be read of it is what its writer wanted to be read, so there is
nobody to name. rejected_records keeps it with its reason and its bytes.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..protocol import BROKER_PATTERN_SQL
from ..settings import Settings
from ..tables import SESSION_KEY, rules
from .columns import (
    API_VERSIONS,
    BROKER_CLIENT_ID,
    INVALID_REQUEST,
    LISTED,
    SASL_HANDSHAKE,
    UNKNOWN,
    UNSUPPORTED_VERSION,
    api_versions_error,
    body_text,
    grep_pattern,
    has_header_v3,
    has_instance_id,
    policy_findings,
    shown,
)

_IN_ORDER = Window.partitionBy(*SESSION_KEY).orderBy("seq")
_BEFORE = _IN_ORDER.rowsBetween(Window.unboundedPreceding, -1)

_GROUP_APIS = (11, 14)
_FORGING = "log_forging"
_LONGEST = 1000
"""Characters of what was found; logged names without a limit of their own stand in it."""
_UNSAFE = r"[\p{C}\p{Zl}\p{Zp}[\p{Zs}&&[^ ]]\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\x{e0100}-\x{e01ef}]"
"""What moves a terminal's cursor, turns or breaks a line, or shows nothing; see `console.safe`."""
_FAILURE_RULES = {
    "unsupported_version": "request_version_refused",
    "unknown_api": "request_unreadable",
    "unreadable_request": "request_unreadable",
    "failed_authentication": "login_failed",
}
_POLICY_RULES = {
    "software_unknown": "policy_unknown_software",
    "software_not_allowed": "policy_software",
    "version_too_old": "policy_version",
    "version_unreadable": "policy_version_unreadable",
    "client_id_not_allowed": "policy_client_id",
}


def transform(
    session_requests: DataFrame,
    session_facts: DataFrame,
    client_software: DataFrame,
    api_usage: DataFrame,
    client_instances: DataFrame,
    group_protocols: DataFrame,
    failed_requests: DataFrame,
    settings: Settings,
) -> DataFrame:
    """One row per rule and session, group, or connection string, that breaks it."""
    sessions = _sessions(session_facts, client_software, api_usage)
    requests = _with_context(session_requests).join(sessions, on=list(SESSION_KEY), how="inner")
    requests = requests.where((F.col("role") == "client") | _is_forging())
    checks = {name: text for name, text in _checks(settings).items() if _severity(name, settings) != "off"}
    found = F.filter(
        F.array(*(F.struct(F.lit(name).alias("rule"), text.alias("message")) for name, text in checks.items())),
        lambda item: item["message"].isNotNull() & ((F.col("role") == "client") | (item["rule"] == _FORGING)),
    )
    broken = requests.select(
        *SESSION_KEY,
        "seq",
        "logged_at",
        "correlation_id",
        grep_pattern(settings.log_zone).alias("grep"),
        F.explode(found).alias("found"),
    )
    without_session = (
        _of_groups(group_protocols)
        .unionByName(_of_instances(client_instances, settings))
        .unionByName(_of_failures(failed_requests, settings))
    )
    return _judged(_folded(broken).unionByName(without_session), settings)


def _sessions(session_facts: DataFrame, client_software: DataFrame, api_usage: DataFrame) -> DataFrame:
    """What the checks need to know of a session: its role and start, its software at the end, versions not offered."""
    key = list(SESSION_KEY)
    software = client_software.select(*key, F.col("name").alias("end_name"), F.col("version").alias("end_version"))
    # ApiVersions itself may be tried above the range: the broker's answer tells it what to fall back to (KIP-511).
    outside = api_usage.where(~F.col("within_advertised") & (F.col("api_key") != API_VERSIONS))
    kinds = F.collect_set(F.struct("api_key", "api_version", "advertised_min", "advertised_max"))
    not_offered = outside.groupBy(*key).agg(F.slice(F.array_sort(kinds), 1, LISTED).alias("not_offered"))
    own = session_facts.where(F.col("role") != "forwarding").select(*key, "role", "start")
    return own.join(software, on=key, how="left").join(not_offered, on=key, how="left")


def _is_forging() -> Column:
    return F.coalesce(F.col("forged_lines") > 0, F.lit(False))


def _with_context(requests: DataFrame) -> DataFrame:
    is_api_versions = F.col("api_key") == API_VERSIONS
    error = F.when(is_api_versions, api_versions_error())
    refused = F.when(
        error == UNSUPPORTED_VERSION,
        F.expr("try_cast(get_json_object(response, '$.apiKeys[0].maxVersion') AS int)"),
    )
    return requests.withColumns(
        {
            "av_error": error,
            "previous_error": F.last(error, ignorenulls=True).over(_BEFORE),
            "had_invalid_request": F.max((error == INVALID_REQUEST).cast("int")).over(_BEFORE) == 1,
            "was_answered": F.coalesce(F.max((error == 0).cast("int")).over(_BEFORE) == 1, F.lit(False)),
            "offered_max": F.last(refused, ignorenulls=True).over(_BEFORE),
            "sent_name": F.when(is_api_versions, body_text("request", "clientSoftwareName")),
            "sent_version": F.when(is_api_versions, body_text("request", "clientSoftwareVersion")),
            "sent_type": F.when(F.col("api_key").isin(*_GROUP_APIS), body_text("request", "protocolType")),
            "told_type": F.when(F.col("api_key").isin(*_GROUP_APIS), body_text("response", "protocolType")),
        }
    )


def _checks(settings: Settings) -> Mapping[str, Column]:
    """Rule name to message or null."""
    first_id = F.coalesce("cached_client_id", F.lit(""))
    other_id = (F.col("seq") > 0) & (F.coalesce("client_id", F.lit("")) != "") & (F.col("client_id") != first_id)
    as_null = (F.col("log_generation") != "json") & (F.col("client_id") == "null")
    bound = F.coalesce(F.col("first_header_version") >= 3, F.lit(False)) & (F.col("start") != "before_log")
    missing = (F.col("seq") > F.col("first_v3_seq")) & ~has_header_v3() & (F.col("api_key") != SASL_HANDSHAKE)
    different = has_instance_id() & (F.col("client_instance_id") != F.col("first_instance_id"))
    accepted = F.col("av_error") == 0
    known = F.coalesce(F.col("client_software_name") != UNKNOWN, F.lit(False))
    names = F.col("sent_name").isNotNull()
    renamed = (F.col("sent_name") != F.col("client_software_name")) | (
        F.col("sent_version") != F.col("client_software_version")
    )
    ignores = (
        (F.col("previous_error") == UNSUPPORTED_VERSION) & (F.col("api_version") == 0) & (F.col("offered_max") > 0)
    )
    return {
        "client_id_changed": _when(
            other_id & ~as_null, "client id ", shown(F.col("client_id")), " after ", shown(F.col("cached_client_id"))
        ),
        "broker_like_client_id": _when(
            (F.col("seq") == 0) & F.col("client_id").rlike(BROKER_CLIENT_ID),
            "client id ", shown(F.col("client_id")), " from ", F.coalesce("remote_host", F.lit("an unknown host")),
        ),
        "instance_id_zero": _when(bound & has_header_v3() & ~has_instance_id(), _request(), " has header v3 and the zero id"),
        "instance_id_missing": _when(bound & missing, _request(), " has no client instance id"),
        "instance_id_different": _when(
            bound & different, "client instance id ", shown(F.col("client_instance_id")), " after ", shown(F.col("first_instance_id"))
        ),
        "invalid_software_name": _when(
            names & ~F.col("sent_name").rlike(BROKER_PATTERN_SQL), "software name ", shown(F.col("sent_name"))
        ),
        "invalid_software_version": _when(
            names & ~F.col("sent_version").rlike(BROKER_PATTERN_SQL), "software version ", shown(F.col("sent_version"))
        ),
        "went_on_after_invalid_request": _when(F.col("had_invalid_request"), _request(), " after INVALID_REQUEST"),
        "fallback_ignores_offer": _when(
            (F.col("api_key") == API_VERSIONS) & accepted & ignores,
            "ApiVersions v0 although v", F.col("offered_max").cast("string"), " was offered",
        ),
        "software_name_reset": _when(
            accepted & known & (F.col("api_version") < 3),
            "ApiVersions v", F.col("api_version").cast("string"), " after the name ", shown(F.col("client_software_name")),
        ),
        "software_name_changed": _when(
            accepted & known & names & renamed,
            shown(F.col("sent_name")), " ", shown(F.col("sent_version")), " after ",
            shown(F.col("client_software_name")), " ", shown(F.col("client_software_version")),
        ),
        "group_type_mismatch": _when(
            F.col("told_type") != F.col("sent_type"),
            _request(), " with protocol type ", shown(F.col("sent_type")), " was answered with ", shown(F.col("told_type")),
        ),
        "api_version_outside_advertised": _not_offered(),
        _FORGING: _when(
            _is_forging(), F.col("forged_lines").cast("string"), " forged log lines in ", _request(),
            " with client id ", shown(F.col("client_id")), " from ", F.coalesce("remote_host", F.lit("an unknown host")),
        ),
        **_policy_checks(settings),
    }  # fmt: skip


def _not_offered() -> Column:
    """Null for nearly every session has no such list; what came before the answer could not know it."""
    used = F.filter(
        "not_offered",
        lambda kind: (kind["api_key"] == F.col("api_key")) & (kind["api_version"] == F.col("api_version")),
    )
    low, high = (F.get(used, F.lit(0))[name].cast("string") for name in ("advertised_min", "advertised_max"))
    offer = F.coalesce(F.concat(F.lit("v"), low, F.lit(" to v"), high), F.lit("no version"))
    return _when(F.col("was_answered") & (F.size(used) > 0), _request(), " although ", offer, " was offered")


def _policy_checks(settings: Settings) -> Mapping[str, Column]:
    """Looked at once per connection, with the software that it had at its end."""
    policy, client_id = settings.policy, F.coalesce("client_id", F.lit(""))
    findings = policy_findings(policy, F.col("end_name"), F.col("end_version"), client_id)
    judged = (F.col("seq") == 0) & ~F.coalesce(F.col("listener").isin(list(policy.exempt_listeners)), F.lit(False))
    software = F.concat(F.lit("software "), shown(F.col("end_name")), F.lit(" "), shown(F.col("end_version")))
    said = dict.fromkeys(findings, software) | {
        "client_id_not_allowed": F.concat(F.lit("client id "), shown(F.col("client_id")))
    }
    return {_POLICY_RULES[verdict]: F.when(judged & holds, said[verdict]) for verdict, holds in findings.items()}


def _when(condition: Column, *parts: Column | str) -> Column:
    return F.when(condition, F.concat(*(F.lit(part) if isinstance(part, str) else part for part in parts)))


def _request() -> Column:
    return F.concat("api_name", F.lit(" v"), F.col("api_version").cast("string"))


def _folded(broken: DataFrame) -> DataFrame:
    example = F.struct("logged_at", "correlation_id", "grep")
    folded = broken.groupBy(F.col("found.rule").alias("rule"), *SESSION_KEY).agg(
        F.count("*").alias("occurrences"),
        F.min("logged_at").alias("first_at"),
        F.max("logged_at").alias("last_at"),
        F.min_by(example, "seq").alias("example"),
        F.min_by("found.message", "seq").alias("said"),
    )
    return folded.withColumn("group_id", F.lit(None).cast("string"))


def _of_groups(groups: DataFrame) -> DataFrame:
    """What members did together; the earliest type stated is taken as the group's own."""
    no_session = [F.lit(None).cast(kind).alias(name) for name, kind in _NO_SESSION.items()]
    key = (F.col("cluster"), *no_session, F.col("group_id"))
    inconsistent = groups.where(F.col("inconsistent_group_protocol") > 0).select(
        F.lit("inconsistent_group_protocol").alias("rule"),
        *key,
        F.col("inconsistent_group_protocol").alias("occurrences"),
        F.col("inconsistent_first_at").alias("first_at"),
        F.col("inconsistent_last_at").alias("last_at"),
        F.col("inconsistent_example").alias("example"),
        F.concat(_of_group(), F.lit(" was answered with INCONSISTENT_GROUP_PROTOCOL")).alias("said"),
    )
    others = F.expr("slice(requests_by_type, 2, size(requests_by_type))")
    mixed = groups.where(F.size("requests_by_type") > 1).withColumn("others", others)
    types = F.array_join(F.transform("others", lambda other: shown(other["protocol_type"])), ", ")
    return inconsistent.unionByName(
        mixed.select(
            F.lit("mixed_protocol_types").alias("rule"),
            *key,
            F.expr("aggregate(others, 0L, (n, other) -> n + other.requests)").alias("occurrences"),
            F.expr("array_min(transform(others, other -> other.first_at))").alias("first_at"),
            F.expr("array_max(transform(others, other -> other.last_at))").alias("last_at"),
            F.expr("get(others, 0).example").alias("example"),
            F.concat(
                _of_group(), F.lit(" has members of type "), types,
                F.lit(" after "), shown(F.expr("get(requests_by_type, 0).protocol_type")),
            ).alias("said"),
        )
    )  # fmt: skip


def _of_instances(instances: DataFrame, settings: Settings) -> DataFrame:
    """Connections that carry a client instance id while another host is connected with it, by connection string.

    Whether two connections overlap may show only when the other one goes on, so these rows are made anew from all
    connections with every run, like those of groups; a session's key would tie them to the runs that read the session.
    """
    met = instances.select("cluster", "instance_id", F.explode("two_hosts_sessions").alias("met"))
    local = F.date_format(F.from_utc_timestamp("met.opened_at", settings.log_zone), "yyyy-MM-dd HH:mm:ss,SSS")
    quoted = F.regexp_replace("met.connection_id", r"[\\\[\](){}.*+?^$|]", r"\\$0")
    # The id stands in JSON records only, whose connection is on the record's one line.
    grep = F.concat(F.lit(r"^\["), local, F.lit(r'\] [A-Z]+ Completed request:.*"connection":"'), quoted, F.lit('"'))
    opened = F.col("met.opened_at")
    example = F.struct(opened.alias("logged_at"), F.lit(None).cast("int").alias("correlation_id"), grep.alias("grep"))
    said = F.concat(
        F.lit("client instance id "), shown(F.col("instance_id")), F.lit(" from "), F.col("met.remote_host"),
        F.lit(" while "), F.col("met.other_host"), F.lit(" is connected with it"),
    )  # fmt: skip
    place = F.struct(opened, F.col("instance_id"))
    folded = met.groupBy(
        "cluster", F.col("met.broker").alias("broker"), F.col("met.connection_id").alias("connection_id")
    )
    return folded.agg(
        F.lit("client_instance_id_on_two_hosts").alias("rule"),
        F.count("*").alias("occurrences"),
        F.min(opened).alias("first_at"),
        F.max(opened).alias("last_at"),
        F.min_by(example, place).alias("example"),
        F.min_by(said, place).alias("said"),
    ).withColumns({name: F.lit(None).cast(kind) for name, kind in _NO_KEY.items()})


def _of_failures(failures: DataFrame, settings: Settings) -> DataFrame:
    """What stands in server.log only: a refused request has no session of its own, but a connection string."""
    rule = F.create_map(*(F.lit(part) for pair in _FAILURE_RULES.items() for part in pair))[F.col("reason")]
    local = F.date_format(F.from_utc_timestamp("logged_at", settings.log_zone), "yyyy-MM-dd HH:mm:ss,SSS")
    grep = F.concat(F.lit(r"^\["), local, F.lit(r"\] (ERROR|INFO) "))
    example = F.struct("logged_at", F.lit(None).cast("int").alias("correlation_id"), grep.alias("grep"))
    version = F.concat(F.lit(" v"), F.col("api_version").cast("string"))
    request = F.concat(F.coalesce("api_name", F.lit("a request")), F.coalesce(version, F.lit("")))
    said = F.concat(
        request, F.lit(" from "), F.coalesce("remote_host", F.lit("?")), F.lit(": "), shown(F.col("detail"), 160)
    )
    login = F.concat(
        F.lit("login from "), F.coalesce("remote_host", F.lit("?")), F.lit(": "), shown(F.col("detail"), 160)
    )
    told = F.when(F.col("reason") == "failed_authentication", login).otherwise(said)
    place = F.struct("logged_at", "file_id", "byte_offset")
    return (
        failures.withColumn("rule", rule)
        .where(F.col("rule").isNotNull())
        .groupBy("rule", "cluster", "broker", "connection_id")
        .agg(
            F.count("*").alias("occurrences"),
            F.min("logged_at").alias("first_at"),
            F.max("logged_at").alias("last_at"),
            F.min_by(example, place).alias("example"),
            F.min_by(told, place).alias("said"),
        )
        .withColumns({name: F.lit(None).cast(kind) for name, kind in _NO_KEY.items()})
    )


_NO_KEY = {"opened_at": "timestamp", "opened_seq": "int", "group_id": "string"}
_NO_SESSION = {"broker": "string", "connection_id": "string", "opened_at": "timestamp", "opened_seq": "int"}


def _of_group() -> Column:
    return F.concat(F.lit("group "), shown(F.col("group_id")))


def _judged(found: DataFrame, settings: Settings) -> DataFrame:
    severity = {name: _severity(name, settings) for name in rules()}
    judged = found.select(
        "rule",
        *SESSION_KEY,
        "group_id",
        _by_rule({name: rule.kip for name, rule in rules().items()}).alias("kip"),
        _by_rule(severity).alias("severity"),
        "occurrences",
        "first_at",
        "last_at",
        "example",
        F.concat(_harmless("said"), F.lit("; "), _by_rule({n: rule.asks for n, rule in rules().items()})).alias(
            "message"
        ),
    )
    return judged.where(F.col("severity") != "off")


def _harmless(text: str) -> Column:
    """Hosts and names stand in messages as they were logged, and a whole forged record can name any."""
    cut = F.when(F.length(text) > _LONGEST, F.concat(F.substring(text, 1, _LONGEST), F.lit("…"))).otherwise(F.col(text))
    return F.regexp_replace(cut, _UNSAFE, "\N{REPLACEMENT CHARACTER}")


def _severity(rule: str, settings: Settings) -> str:
    return settings.policy.severity_of(rule, rules()[rule].severity)


def _by_rule(values: Mapping[str, str | None]) -> Column:
    pairs = [part for name, value in values.items() for part in (F.lit(name), F.lit(value))]
    return F.create_map(*pairs)[F.col("rule")]
