-- Who uses which topic: per topic each client that produces to it, reads it, commits or changes it; and topics that nobody wrote or read since they were first named, while the logs cover (unused_since).
SELECT u.cluster, u.topic, u.topic_id, u.operation, u.principal, u.client_id, u.client_software_name, u.client_software_version,
       i.host_count, u.requests, u.bytes, CAST(floor(u.bytes / d.days) AS BIGINT) AS bytes_per_day,
       u.first_at, u.last_at,
       CAST(NULL AS TIMESTAMP) AS unused_since, CAST(NULL AS TIMESTAMP) AS covered_until
FROM (
    SELECT cluster, topic, CASE WHEN topic IS NULL THEN topic_id END AS topic_id, operation, principal, client_id,
           client_software_name, client_software_version, CAST(sum(requests) AS BIGINT) AS requests,
           CAST(sum(bytes) AS BIGINT) AS bytes, min(first_at) AS first_at, max(last_at) AS last_at
    FROM {topic_usage} GROUP BY ALL
) AS u
-- Bytes a day are over the days that the cluster's logs cover, not over those on which the client came.
LEFT JOIN {covered_days} AS d ON d.cluster = u.cluster
LEFT JOIN {client_inventory} AS i ON i.cluster = u.cluster AND i.principal IS NOT DISTINCT FROM u.principal
     AND i.client_id IS NOT DISTINCT FROM u.client_id AND i.client_software_name = u.client_software_name
     AND i.client_software_version = u.client_software_version
UNION ALL
SELECT cluster, topic, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, max(last_used_at), max(unused_since),
       max(covered_until)
FROM {known_topics} WHERE unused_since IS NOT NULL
GROUP BY cluster, topic
