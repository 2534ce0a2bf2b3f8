-- What may be new to somebody: is_new is what no run before the newest one had read.
-- For a time of somebody's own: it is news for all who know the logs until a time from news_from on (null: ever) and before news_until.
-- Client ids that differ by a number, a UUID or the suffix of a pod are one client, so that not each start of a batch job is news, unless the clients
-- have several libraries. Of each (is_merged) there are also the rows of its ids, for those who know that their owners differ.
WITH read_now AS (SELECT * FROM {newest_reads} WHERE read_from IS NOT NULL),
names AS (SELECT * FROM {programs}),
reads AS (
    SELECT cluster, broker, min(read_from) AS read_from, max(read_until) AS read_until, max(read_before) AS read_before
    FROM {newest_reads} GROUP BY cluster, broker
),
-- What a client sent first in what the newest run read is new; its connection may have begun in any file of the broker.
uses AS (
    SELECT u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.api_key, u.api_version,
           bool_or(n.file_id IS NULL) AS is_known
    FROM {api_usage} AS u
    LEFT JOIN read_now AS n ON n.cluster = u.cluster AND n.broker = u.broker AND u.first_at BETWEEN n.read_from AND n.read_until
    WHERE u.role = 'client'
    GROUP BY u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.api_key, u.api_version
),
probable AS (
    SELECT cluster, principal, client_id, min(probable_software_name) AS library
    FROM {probable_clients} GROUP BY cluster, principal, client_id
    HAVING min(probable_software_name) = max(probable_software_name)
),
breaking AS (
    SELECT i.*, coalesce(u.is_known, false) AS is_known, CASE WHEN i.client_software_name <> 'unknown' THEN coalesce(b.library, i.client_software_name) ELSE p.library END AS made_with
    FROM (SELECT *, explode(map_keys(refused_by)) AS release FROM {upgrade_impact}) AS i
    LEFT JOIN uses AS u
      ON u.cluster = i.cluster AND u.principal IS NOT DISTINCT FROM i.principal AND u.client_id IS NOT DISTINCT FROM i.client_id
     AND u.client_software_name = i.client_software_name AND u.client_software_version = i.client_software_version
     AND u.api_key = i.api_key AND u.api_version = i.api_version
    LEFT JOIN {bindings} AS b ON left(i.client_software_name, length(b.name_start)) = b.name_start
    LEFT JOIN probable AS p
      ON p.cluster = i.cluster AND p.principal IS NOT DISTINCT FROM i.principal AND p.client_id = i.client_id
),
breaks_of_libraries AS (
    SELECT cluster, principal, min(client_id) AS client_id, array_sort(collect_set(client_id)) AS client_ids, is_merged, program, release, made_with,
           count(DISTINCT client_id) AS ids, min(first_seen) AS first_seen, bool_or(is_known) AS is_known,
           transform(array_sort(collect_set(named_struct(
               'api_key', api_key, 'api_version', api_version, 'request', concat(api_name, ' v', api_version)
           ))), one -> one.request) AS requests,
           array_sort(array_distinct(flatten(collect_list(host_list)))) AS hosts
    FROM (
        SELECT i.*, m.is_merged, CASE WHEN m.is_merged THEN coalesce(p.program, without_numbers(i.client_id)) ELSE i.client_id END AS program
        FROM breaking AS i LEFT JOIN names AS p ON p.client_id = i.client_id CROSS JOIN (VALUES (true), (false)) AS m(is_merged)
    ) AS i
    GROUP BY cluster, principal, program, is_merged, release, made_with
),
breaks AS (
    -- A library that is not known may be any.
    SELECT *, CASE WHEN made_with IS NULL THEN bool_or(is_known) OVER alike ELSE is_known OR bool_or(made_with IS NULL AND is_known) OVER alike END AS was_known,
           CASE WHEN made_with IS NULL THEN min(first_seen) OVER alike
           ELSE least(first_seen, coalesce(min(CASE WHEN made_with IS NULL THEN first_seen END) OVER alike, first_seen)) END AS known_since
    FROM breaks_of_libraries
    WINDOW alike AS (PARTITION BY cluster, principal, program, is_merged, release)
),
clients AS (
    SELECT cluster, principal, client_id, client_software_name, client_software_version, bool_or(is_known) AS is_known
    FROM uses GROUP BY cluster, principal, client_id, client_software_name, client_software_version
),
programs AS (
    SELECT cluster, principal, min(client_id) AS client_id, array_sort(collect_set(client_id)) AS client_ids, is_merged,
           count(DISTINCT client_id) AS ids, min(first_seen) AS first_seen, bool_or(is_known) AS was_known,
           array_sort(collect_set(CASE WHEN client_software_name <> 'unknown' THEN client_software_name END)) AS names,
           bool_or(is_known AND client_software_name <> 'unknown') AS was_named,
           bool_or(is_known AND client_software_name = 'unknown') AS was_unnamed,
           max(CASE WHEN client_software_name <> 'unknown' THEN last_seen END) AS named_until,
           min(CASE WHEN client_software_name = 'unknown' THEN first_seen END) AS unnamed_from
    FROM (
        SELECT i.*, coalesce(c.is_known, false) AS is_known, m.is_merged, CASE WHEN m.is_merged THEN p.program ELSE i.client_id END AS program
        FROM {client_inventory} AS i
        LEFT JOIN clients AS c
          ON c.cluster = i.cluster AND c.principal IS NOT DISTINCT FROM i.principal AND c.client_id IS NOT DISTINCT FROM i.client_id
         AND c.client_software_name = i.client_software_name AND c.client_software_version = i.client_software_version
        LEFT JOIN names AS p ON p.client_id = i.client_id
        CROSS JOIN (VALUES (true), (false)) AS m(is_merged)
    ) AS i
    GROUP BY cluster, principal, program, is_merged
),
refused_before AS (
    SELECT DISTINCT f.cluster, f.broker, f.remote_host, f.api_key, f.api_name, f.api_version
    FROM {failed_requests} AS f JOIN {known_until} AS k ON k.cluster = f.cluster
    WHERE f.reason = 'unsupported_version' AND (f.run IS NULL OR f.run < k.run)
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
    SELECT 'breaks' AS kind, cluster, CAST(NULL AS STRING) AS broker, principal, client_id, client_ids, made_with, is_merged, ids,
           CAST(NULL AS STRING) AS topic, release, first_seen, CAST(NULL AS TIMESTAMP) AS news_from, known_since AS news_until, NOT was_known AS is_new,
           concat(' would break at Kafka ', release, ': ', array_join(slice(requests, 1, 3), ', '),
                  CASE WHEN size(requests) > 3 THEN concat(' and ', size(requests) - 3, ' more') ELSE '' END, ', from ',
                  CASE WHEN size(hosts) = 0 THEN 'an unknown host' ELSE harmless(array_join(slice(hosts, 1, 3), ', '), 200) END,
                  CASE WHEN size(hosts) > 3 THEN concat(' and ', size(hosts) - 3, ' more') ELSE '' END) AS says
    FROM breaks
    UNION ALL
    SELECT 'unowned', cluster, NULL, principal, client_id, client_ids, NULL, is_merged, ids, NULL, NULL, first_seen, NULL, first_seen, NOT was_known,
           ' is new, and has no owner'
    FROM programs
    UNION ALL
    SELECT 'unknown', cluster, NULL, principal, client_id, client_ids, NULL, is_merged, ids, NULL, NULL, unnamed_from, named_until, unnamed_from,
           was_named AND NOT was_unnamed,
           concat(' named ', harmless(array_join(names, ', '), 100), ' before, and no longer names its software')
    FROM programs WHERE named_until < unnamed_from
    UNION ALL
    SELECT 'refused', r.cluster, r.broker, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, r.first_at, NULL, r.first_at, b.cluster IS NULL,
           concat(harmless(r.broker, 100), ' refuses ', coalesce(r.api_name, 'unknown API'),
                  CASE WHEN r.api_version IS NULL THEN '' ELSE concat(' v', CAST(r.api_version AS STRING)) END, ' from ',
                  coalesce(harmless(r.remote_host, 100), 'an unknown host'), ': ', r.requests,
                  CASE WHEN r.requests = 1 THEN ' request' ELSE ' requests' END, ' so far')
    FROM {refused_requests} AS r
    LEFT JOIN refused_before AS b
      ON b.cluster = r.cluster AND b.broker = r.broker AND b.remote_host IS NOT DISTINCT FROM r.remote_host
     AND b.api_key IS NOT DISTINCT FROM r.api_key AND b.api_name IS NOT DISTINCT FROM r.api_name
     AND b.api_version IS NOT DISTINCT FROM r.api_version
    UNION ALL
    -- A broker at INFO may be silent for hours, so that only one that logged every request stops: when the log of another one is
    -- first read over its end. After that, others go on in each run.
    SELECT 'stopped', l.cluster, l.broker, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, l.until, NULL, timestamp_micros(253370764800000000),
           own.read_before IS NOT NULL OR coalesce(others.read_before <= l.until, true),
           concat('the log of ', harmless(l.broker, 100), ' ends, and others of the cluster go on')
    FROM {ends_of_logs} AS l
    JOIN (SELECT cluster, max(read_until) AS read_until, max(read_before) AS read_before FROM reads GROUP BY cluster) AS others
      ON others.cluster = l.cluster AND others.read_until > l.until
    LEFT JOIN reads AS own ON own.cluster = l.cluster AND own.broker = l.broker
    WHERE l.covered_until IS NOT NULL AND own.read_until IS NULL
    UNION ALL
    -- A log that held every request ten minutes before the end of a run, or an hour (`ends_of_logs`), held them until then.
    SELECT 'gap', l.cluster, l.broker, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, l.whole_until, NULL,
           timestamp_micros(unix_micros(l.whole_until) + l.shown_after),
           coalesce(l.whole_until >= r.read_from, false)
           OR unix_micros(l.whole_until) + l.shown_after > unix_micros(coalesce(r.read_before, k.known_until)),
           concat('the log of ', harmless(l.broker, 100), ' no longer holds every request: its level fell to INFO, or it is filtered')
    FROM {ends_of_logs} AS l
    LEFT JOIN reads AS r ON r.cluster = l.cluster AND r.broker = l.broker
    LEFT JOIN {known_until} AS k ON k.cluster = l.cluster
    WHERE l.covered_until IS NULL AND l.whole_until IS NOT NULL
    UNION ALL
    SELECT 'reader', t.cluster, NULL, NULL, NULL, NULL, NULL, true, NULL, t.topic, NULL, t.last_read, NULL, t.missed_at, t.missed_at > r.known_until,
           concat('topic ', harmless(t.topic, 249), ' is written, and nobody reads it any more')
    FROM topics AS t
    -- Only logs that were read now can have come to the end of the hours.
    LEFT JOIN (
        SELECT cluster, min(coalesce(read_before, read_from)) AS known_until FROM reads WHERE read_from IS NOT NULL GROUP BY cluster
    ) AS r ON r.cluster = t.cluster
    WHERE t.missed_at <= t.covered_until
)
SELECT c.kind, c.cluster, c.broker, c.principal, c.client_id, c.client_ids, c.made_with, c.is_merged, c.topic, c.release, c.first_seen, c.news_from, c.news_until,
       coalesce(c.is_new, false) AND k.known_until IS NOT NULL AS is_new, k.known_until,
       concat(CASE WHEN c.kind IN ('breaks', 'unowned', 'unknown') THEN concat(
           CASE WHEN c.client_id IS NULL THEN '(none)' WHEN c.client_id = '' THEN '(empty)' ELSE harmless(c.client_id, 100) END,
           CASE WHEN c.ids > 2 THEN concat(' and ', c.ids - 1, ' ids like it') WHEN c.ids = 2 THEN ' and an id like it' ELSE '' END, ' (',
           CASE WHEN c.principal IS NULL THEN '(none)' WHEN c.principal = '' THEN '(empty)' ELSE harmless(c.principal, 100) END, ')'
       ) ELSE '' END, c.says) AS what
FROM changes AS c
LEFT JOIN {known_until} AS k ON k.cluster = c.cluster
