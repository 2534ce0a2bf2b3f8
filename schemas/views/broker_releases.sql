-- Which release of Kafka each broker runs, as its newest start says in its server.log, or by the versions that it advertises.
-- A release fits if the broker advertises exactly its versions: of every API that needs nothing, and of no API that it lacks. Only
-- of what a broker forwards to its controller, it advertises the versions that both have: fewer in a rolling upgrade.
-- The newest evidence counts: what a server.log said before the newest start that is known counts no more, nor do older answers.
WITH releases AS (
    -- Patch releases of a series advertise the same, unless several of them were measured because they do not.
    SELECT release, release_order, series, CASE WHEN count(*) OVER (PARTITION BY series) = 1 THEN series ELSE release END AS name
    FROM (
        SELECT DISTINCT release, release_order, regexp_replace(release, '\.[0-9]+$', '') AS series FROM {kafka_releases}
    ) AS k
),
-- A process that logs its version and never starts is not the broker: it failed, or was launched by mistake.
said AS (
    SELECT cluster, broker, max(named_struct('said_at', said_at, 'version', value)) AS last
    FROM (
        SELECT *, count(CASE WHEN kind = 'started' THEN 1 END)
                      OVER (PARTITION BY cluster, broker ORDER BY said_at DESC) AS starts_after
        FROM (
            SELECT DISTINCT cluster, broker, event.at AS said_at, event.kind AS kind, event.value AS value
            FROM (SELECT cluster, broker, explode(broker_events) AS event FROM {ingested_files}) AS f
            WHERE event.kind IN ('version', 'started')
        ) AS e
    ) AS e
    WHERE kind = 'version' AND value IS NOT NULL AND starts_after = 1
    GROUP BY cluster, broker
),
-- Of each broker one answer, of a listener with Produce.
answers AS (
    SELECT cluster, broker, last.newest AS newest, last.listener AS listener
    FROM (
        SELECT cluster, broker, max(named_struct('newest', newest, 'listener', coalesce(listener, ''))) AS last
        FROM {newest_ranges} AS r WHERE api_key = 0 GROUP BY cluster, broker
    ) AS l
),
ranges AS (
    SELECT a.cluster, a.broker, r.api_key, r.min_version, r.max_version, count(*) OVER (PARTITION BY a.cluster, a.broker) AS apis
    FROM answers AS a
    JOIN {newest_ranges} AS r ON r.cluster = a.cluster AND r.broker = a.broker AND coalesce(r.listener, '') = a.listener
),
known AS (
    SELECT *, api_name IN (
        'CREATE_TOPICS', 'DELETE_TOPICS', 'CREATE_ACLS', 'DELETE_ACLS', 'ALTER_CONFIGS', 'CREATE_PARTITIONS', 'ELECT_LEADERS',
        'CREATE_DELEGATION_TOKEN', 'RENEW_DELEGATION_TOKEN', 'EXPIRE_DELEGATION_TOKEN', 'INCREMENTAL_ALTER_CONFIGS',
        'ALTER_PARTITION_REASSIGNMENTS', 'LIST_PARTITION_REASSIGNMENTS', 'ALTER_CLIENT_QUOTAS', 'ALTER_USER_SCRAM_CREDENTIALS',
        'UPDATE_FEATURES', 'DESCRIBE_QUORUM', 'UNREGISTER_BROKER', 'ADD_RAFT_VOTER', 'REMOVE_RAFT_VOTER'
    ) AS is_forwarded
    FROM {kafka_releases}
),
fits AS (
    SELECT a.cluster, a.broker, k.release
    FROM answers AS a
    CROSS JOIN known AS k
    LEFT JOIN ranges AS r ON r.cluster = a.cluster AND r.broker = a.broker AND r.api_key = k.api_key
    GROUP BY a.cluster, a.broker, k.release
    HAVING count(r.api_key) = max(r.apis) AND bool_and(coalesce(CASE
        WHEN r.api_key IS NULL THEN k.advertised_min IS NULL OR k.needs IS NOT NULL OR k.is_forwarded
        WHEN k.is_forwarded THEN r.min_version >= k.advertised_min AND r.max_version <= k.advertised_max
        ELSE r.min_version = k.advertised_min AND r.max_version = k.advertised_max
    END, false))
),
evidence AS (
    SELECT b.cluster, b.broker, s.last.said_at AS said_at, s.last.version AS version, a.newest AS answered_at, f.fitting,
           transform(filter(f.fitting, one -> concat(s.last.version, '.') LIKE concat(one.series, '.%')), one -> one.name) AS agreeing,
           array_max(c.starts) AS began
    FROM (SELECT DISTINCT cluster, broker FROM {ingested_files}) AS b
    LEFT JOIN {log_coverage} AS c ON c.cluster = b.cluster AND c.broker = b.broker
    LEFT JOIN said AS s ON s.cluster = b.cluster AND s.broker = b.broker
    LEFT JOIN answers AS a ON a.cluster = b.cluster AND a.broker = b.broker
    LEFT JOIN (
        SELECT f.cluster, f.broker, array_sort(collect_list(named_struct(
                   'release_order', r.release_order, 'name', r.name, 'series', r.series
               ))) AS fitting
        FROM fits AS f JOIN releases AS r ON r.release = f.release
        GROUP BY f.cluster, f.broker
    ) AS f ON f.cluster = b.cluster AND f.broker = b.broker
),
judged AS (
    SELECT *,
           -- A build of a vendor may say a version of its own: then what it advertises says Kafka's.
           is_said AND NOT (is_answered AND coalesce(size(fitting), 0) > 0 AND size(agreeing) = 0) AS by_log,
           is_answered AND coalesce(size(fitting), 0) > 0 AS by_answer
    FROM (
        SELECT *, coalesce(said_at >= coalesce(began, said_at), false) AS is_said,
               coalesce(answered_at >= greatest(coalesce(began, answered_at), coalesce(said_at, answered_at)), false) AS is_answered
        FROM evidence
    ) AS e
)
SELECT cluster, broker,
       CASE WHEN by_log THEN version
            WHEN by_answer AND size(fitting) = 1 THEN get(fitting, 0).name
            WHEN by_answer THEN concat(get(fitting, 0).name, ' to ', get(fitting, size(fitting) - 1).name) END AS release,
       CASE WHEN by_log THEN 'server_log' WHEN by_answer THEN 'advertised' END AS shown_by,
       CASE WHEN by_log THEN said_at WHEN by_answer THEN answered_at END AS as_of
FROM judged
