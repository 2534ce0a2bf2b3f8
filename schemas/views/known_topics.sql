-- Which topics exist, as brokers say: in answers to Metadata without an error, in what they answer to a creation or a deletion, and in descriptions of groups; with their ids (KIP-516).
WITH named AS (
    SELECT cluster, topic, topic_id, sum(requests) AS requests, min(first_at) AS first_named_at, max(last_at) AS last_named_at,
           max(CASE WHEN kind = 'deletion' THEN last_at END) AS deleted_at
    FROM {topic_mentions} WHERE kind IN ('name', 'deletion')
    GROUP BY cluster, topic, topic_id
),
used AS (
    SELECT cluster, topic, max(last_at) AS last_used_at
    FROM {topic_usage} WHERE operation IN ('produce', 'fetch', 'commit') AND topic IS NOT NULL
    GROUP BY cluster, topic
),
-- These may be of any topic: fetches of sessions that began before the log, and what comes after a client's first 10,000 topics.
-- An id without a name is that of no topic that has another one.
unnamed AS (
    SELECT cluster, max(last_at) AS last_at, max(CASE WHEN topic_id IS NULL THEN last_at END) AS last_without_id_at
    FROM {topic_usage} WHERE operation IN ('produce', 'fetch', 'commit') AND topic IS NULL
    GROUP BY cluster
),
-- A topic's partitions may be on any broker, so silence about it is evidence only while the logs of all brokers hold every request,
-- and no broker is known of which no log was read.
logs AS (
    SELECT cluster, count(*) AS brokers_read, max(covered_from) AS covered_from, min(covered_until) AS covered_until,
           bool_and(covered_from IS NOT NULL) AND max(covered_from) < min(covered_until) AS are_covered
    FROM {log_coverage}
    GROUP BY cluster
),
topics AS (
    SELECT cluster, topic, max(deleted_at) AS deleted_at, max(last_named_at) AS last_named_at, min(first_named_at) AS first_named_at,
           count(topic_id) > 0 AS has_id,
           -- A topic that was created anew has another id.
           CASE WHEN count(topic_id) > 1 THEN max(CASE WHEN topic_id IS NOT NULL THEN first_named_at END) END AS renewed_at
    FROM named
    WHERE topic IS NOT NULL
    GROUP BY cluster, topic
),
known AS (
    SELECT n.cluster, n.topic, n.topic_id, n.requests, n.first_named_at, n.last_named_at, n.deleted_at, u.last_used_at,
           -- Brokers write and read these without requests.
           n.topic IN ('__consumer_offsets', '__transaction_state', '__share_group_state', '__cluster_metadata') AS is_internal,
           l.brokers_read, CASE WHEN l.are_covered THEN l.covered_from END AS covered_from,
           CASE WHEN l.are_covered THEN l.covered_until END AS covered_until,
           -- Nothing is said by the silence of a short time.
           coalesce(l.are_covered AND unix_micros(l.covered_until) - unix_micros(l.covered_from)
                    >= CAST({unused_topic_hours} AS BIGINT) * 3600000000, false) AND m.cluster IS NULL
                    AND s.cluster IS NOT NULL AS is_covered_long,
           -- A topic may have been created just before its first answer; one that was used before is older.
           CASE WHEN t.topic IS NOT NULL AND coalesce(t.deleted_at < t.last_named_at, true)
                     AND coalesce(u.last_used_at < l.covered_from, true)
             THEN greatest(
                 l.covered_from, coalesce(t.deleted_at, l.covered_from),
                 coalesce(CASE WHEN t.has_id THEN x.last_without_id_at ELSE x.last_at END, l.covered_from),
                 coalesce(t.renewed_at, least(t.first_named_at, coalesce(u.last_used_at, t.first_named_at)))
             )
           END AS silent_since
    FROM named AS n
    LEFT JOIN topics AS t ON t.cluster = n.cluster AND t.topic = n.topic
    LEFT JOIN unnamed AS x ON x.cluster = n.cluster
    LEFT JOIN used AS u ON u.cluster = n.cluster AND u.topic = n.topic
    LEFT JOIN logs AS l ON l.cluster = n.cluster
    LEFT JOIN (SELECT DISTINCT cluster FROM {brokers_without_logs}) AS m ON m.cluster = n.cluster
    -- A log of a single client id may have been filtered by it (grep), so that it lacks the others who use a topic.
    LEFT JOIN (
        SELECT cluster FROM {connections} GROUP BY cluster HAVING count(DISTINCT client_id) > 1
    ) AS s ON s.cluster = n.cluster
)
SELECT cluster, topic, topic_id, requests, first_named_at, last_named_at, deleted_at, last_used_at, is_internal, brokers_read,
       covered_from, covered_until, is_covered_long,
       CASE WHEN is_covered_long AND NOT is_internal AND unix_micros(covered_until) - unix_micros(silent_since)
                 >= CAST({unused_topic_hours} AS BIGINT) * 3600000000 THEN silent_since END AS unused_since
FROM known
