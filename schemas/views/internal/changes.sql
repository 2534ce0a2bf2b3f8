-- What may be new to somebody: it is news for all who know the logs until a time from news_from on (null: ever) and before news_until.
-- Client ids that differ by a number or a UUID are one client, so that not each start of a batch job is news.
WITH breaks AS (
    SELECT cluster, principal, min(client_id) AS client_id, count(DISTINCT client_id) AS ids, release, min(first_seen) AS first_seen,
           transform(array_sort(collect_set(named_struct(
               'api_key', api_key, 'api_version', api_version, 'request', concat(api_name, ' v', api_version)
           ))), one -> one.request) AS requests,
           array_sort(array_distinct(flatten(collect_list(host_list)))) AS hosts
    FROM (SELECT *, without_numbers(client_id) AS program, explode(map_keys(refused_by)) AS release FROM {upgrade_impact}) AS i
    GROUP BY cluster, principal, program, release
),
programs AS (
    SELECT cluster, principal, min(client_id) AS client_id, count(DISTINCT client_id) AS ids, min(first_seen) AS first_seen,
           array_sort(collect_set(CASE WHEN client_software_name <> 'unknown' THEN client_software_name END)) AS names,
           max(CASE WHEN client_software_name <> 'unknown' THEN last_seen END) AS named_until,
           min(CASE WHEN client_software_name = 'unknown' THEN first_seen END) AS unnamed_from
    FROM (SELECT *, without_numbers(client_id) AS program FROM {client_inventory}) AS i
    GROUP BY cluster, principal, program
),
logs AS (
    SELECT f.cluster, f.broker, f.until, l.covered_until, array_max(transform(l.whole_periods, one -> one.whole_until)) AS whole_until
    FROM (SELECT cluster, broker, max(last_logged_at) AS until FROM {ingested_files} GROUP BY cluster, broker) AS f
    JOIN {log_coverage} AS l ON l.cluster = f.cluster AND l.broker = f.broker
    WHERE f.until IS NOT NULL
),
topics AS (
    SELECT u.cluster, u.topic, u.last_read, k.covered_until,
           timestamp_micros(unix_micros(u.last_read) + CAST({unused_topic_hours} AS BIGINT) * 3600000000) AS missed_at
    FROM (
        SELECT cluster, topic, max(CASE WHEN operation IN ('fetch', 'commit') THEN last_at END) AS last_read,
               max(CASE WHEN operation = 'produce' THEN last_at END) AS last_written
        FROM {topic_usage} WHERE topic IS NOT NULL GROUP BY cluster, topic
    ) AS u
    JOIN (
        SELECT cluster, max(covered_from) AS covered_from, max(covered_until) AS covered_until FROM {known_topics} GROUP BY cluster
    ) AS k ON k.cluster = u.cluster
    WHERE u.last_read IS NOT NULL AND u.last_written > u.last_read AND k.covered_from <= u.last_read
),
changes AS (
    SELECT 'breaks' AS kind, cluster, CAST(NULL AS STRING) AS broker, principal, client_id, ids, CAST(NULL AS STRING) AS topic, release,
           first_seen, CAST(NULL AS TIMESTAMP) AS news_from, first_seen AS news_until,
           concat(' would break at Kafka ', release, ': ', array_join(slice(requests, 1, 3), ', '),
                  CASE WHEN size(requests) > 3 THEN concat(' and ', size(requests) - 3, ' more') ELSE '' END, ', from ',
                  CASE WHEN size(hosts) = 0 THEN 'an unknown host' ELSE harmless(array_join(slice(hosts, 1, 3), ', '), 200) END,
                  CASE WHEN size(hosts) > 3 THEN concat(' and ', size(hosts) - 3, ' more') ELSE '' END) AS says
    FROM breaks
    UNION ALL
    SELECT 'unowned', cluster, NULL, principal, client_id, ids, NULL, NULL, first_seen, NULL, first_seen, ' is new, and has no owner'
    FROM programs
    UNION ALL
    SELECT 'unknown', cluster, NULL, principal, client_id, ids, NULL, NULL, unnamed_from, named_until, unnamed_from,
           concat(' named ', harmless(array_join(names, ', '), 100), ' before, and no longer names its software')
    FROM programs WHERE named_until < unnamed_from
    UNION ALL
    SELECT 'refused', cluster, broker, NULL, NULL, NULL, NULL, NULL, first_at, NULL, first_at,
           concat(harmless(broker, 100), ' refuses ', coalesce(api_name, 'unknown API'),
                  CASE WHEN api_version IS NULL THEN '' ELSE concat(' v', CAST(api_version AS STRING)) END, ' from ',
                  coalesce(harmless(remote_host, 100), 'an unknown host'), ': ', requests,
                  CASE WHEN requests = 1 THEN ' request' ELSE ' requests' END, ' so far')
    FROM {refused_requests}
    UNION ALL
    -- A broker at INFO may be silent for hours, so that only one that logged every request stops.
    SELECT 'stopped', l.cluster, l.broker, NULL, NULL, NULL, NULL, NULL, l.until, NULL, timestamp_micros(253370764800000000),
           concat('the log of ', harmless(l.broker, 100), ' ends, and others of the cluster go on')
    FROM logs AS l
    JOIN (SELECT *, max(read_until) OVER (PARTITION BY cluster) AS others_until FROM {newest_reads}) AS r
      ON r.cluster = l.cluster AND r.broker = l.broker
    WHERE l.covered_until IS NOT NULL AND r.read_until IS NULL AND r.others_until IS NOT NULL
    UNION ALL
    -- A log that held every request ten minutes before the end of a run held them until then.
    SELECT 'gap', cluster, broker, NULL, NULL, NULL, NULL, NULL, whole_until, NULL, timestamp_micros(unix_micros(whole_until) + 600000001),
           concat('the log of ', harmless(broker, 100), ' no longer holds every request: its level fell to INFO, or it is filtered')
    FROM logs WHERE covered_until IS NULL AND whole_until IS NOT NULL
    UNION ALL
    SELECT 'reader', cluster, NULL, NULL, NULL, NULL, topic, NULL, last_read, NULL, missed_at,
           concat('topic ', harmless(topic, 249), ' is written, and nobody reads it any more')
    FROM topics WHERE missed_at <= covered_until
)
SELECT kind, cluster, broker, principal, client_id, topic, release, first_seen, news_from, news_until,
       concat(CASE WHEN kind IN ('breaks', 'unowned', 'unknown') THEN concat(
           CASE WHEN client_id IS NULL THEN '(none)' WHEN client_id = '' THEN '(empty)' ELSE harmless(client_id, 100) END,
           CASE WHEN ids > 2 THEN concat(' and ', ids - 1, ' ids like it') WHEN ids = 2 THEN ' and an id like it' ELSE '' END, ' (',
           CASE WHEN principal IS NULL THEN '(none)' WHEN principal = '' THEN '(empty)' ELSE harmless(principal, 100) END, ')'
       ) ELSE '' END, says) AS what
FROM changes
