-- How far the answers can be trusted: what each broker's log shows of its clients' connections, over which time, and what it lacks.
SELECT c.cluster, c.broker, c.connections, c.observed, c.hidden_by_sasl, c.before_log,
       round(CAST(100 AS DOUBLE) * c.observed / c.connections, 1) AS percent_observed,
       u.info_only, a.broker IS NOT NULL AS has_api_versions_answers, f.rejected_records, f.damaged_files,
       f.first_logged_at, f.last_logged_at,
       -- Of before_log: rows with a connection id of which the log masks an address; without the client's, a row stands for a client.
       c.masked
FROM (
    SELECT cluster, broker, count(*) AS connections,
           count(CASE WHEN start = 'observed' THEN 1 END) AS observed,
           count(CASE WHEN start = 'hidden_by_sasl' THEN 1 END) AS hidden_by_sasl,
           count(CASE WHEN start = 'before_log' THEN 1 END) AS before_log,
           count(CASE WHEN connection_id LIKE {masked_ids} THEN 1 END) AS masked
    FROM {connections} WHERE role = 'client' GROUP BY cluster, broker
) AS c
LEFT JOIN (
    SELECT cluster, broker, bool_and(info_only) AS info_only FROM {api_usage} GROUP BY cluster, broker
) AS u ON u.cluster = c.cluster AND u.broker = c.broker
LEFT JOIN (
    SELECT DISTINCT cluster, broker FROM {broker_api_versions}
) AS a ON a.cluster = c.cluster AND a.broker = c.broker
LEFT JOIN (
    SELECT cluster, broker, CAST(sum(rejected) AS BIGINT) AS rejected_records,
           count(CASE WHEN damage IS NOT NULL THEN 1 END) AS damaged_files,
           min(first_logged_at) AS first_logged_at, max(last_logged_at) AS last_logged_at
    FROM {ingested_files} GROUP BY cluster, broker
) AS f ON f.cluster = c.cluster AND f.broker = c.broker
ORDER BY percent_observed, connections DESC
