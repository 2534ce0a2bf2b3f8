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
-- A topic's partitions may be on any broker, so silence about it is evidence only while the logs of all brokers hold every request,
-- and no broker is known of which no log was read.
logs AS (
    SELECT cluster, count(*) AS brokers_read, max(covered_from) AS covered_from, min(covered_until) AS covered_until,
           bool_and(covered_from IS NOT NULL) AND max(covered_from) < min(covered_until) AS are_covered
    FROM {log_coverage}
    GROUP BY cluster
)
SELECT n.cluster, n.topic, n.topic_id, n.requests, n.first_named_at, n.last_named_at, n.deleted_at, u.last_used_at,
       -- Brokers write and read these without requests.
       n.topic IN ('__consumer_offsets', '__transaction_state', '__share_group_state', '__cluster_metadata') AS is_internal,
       l.brokers_read, CASE WHEN l.are_covered THEN l.covered_from END AS covered_from,
       CASE WHEN l.are_covered THEN l.covered_until END AS covered_until,
       -- Nothing is said by the silence of a short time.
       coalesce(l.are_covered AND unix_micros(l.covered_until) - unix_micros(l.covered_from)
                >= CAST({unused_topic_hours} AS BIGINT) * 3600000000, false) AND m.cluster IS NULL AS is_covered_long
FROM named AS n
LEFT JOIN used AS u ON u.cluster = n.cluster AND u.topic = n.topic
LEFT JOIN logs AS l ON l.cluster = n.cluster
LEFT JOIN (SELECT DISTINCT cluster FROM {brokers_without_logs}) AS m ON m.cluster = n.cluster
