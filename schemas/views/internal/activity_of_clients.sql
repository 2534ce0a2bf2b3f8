-- The parts of client_activity. A request that states no client id counts for the one that its connection has stated (KIP-1313).
WITH stated AS (
    SELECT p.cluster, p.broker, p.connection_id, p.first_at, max(c.client_id) AS client_id
    FROM {client_activity_parts} AS p
    JOIN {connections} AS c
      ON c.cluster = p.cluster AND c.broker = p.broker AND c.connection_id = p.connection_id AND c.client_id <> ''
         AND p.first_at BETWEEN c.opened_at AND c.last_request_at
    WHERE p.connection_id IS NOT NULL
    GROUP BY p.cluster, p.broker, p.connection_id, p.first_at
)
SELECT p.cluster, p.broker, p.principal, coalesce(s.client_id, p.client_id) AS client_id, p.client_software_name,
       p.client_software_version, p.listener, p.api_name, p.bucket,
       p.requests, p.requests_by_minute, p.errors, p.error_count, p.latency, p.total_time_ms_sum, p.total_time_ms_max,
       p.request_queue_time_ms_sum, p.request_queue_time_ms_max, p.local_time_ms_sum, p.local_time_ms_max,
       p.remote_time_ms_sum, p.remote_time_ms_max, p.throttle_time_ms_sum, p.throttle_time_ms_max,
       p.response_queue_time_ms_sum, p.response_queue_time_ms_max, p.send_time_ms_sum, p.send_time_ms_max, p.throttled,
       p.throttled_ms, p.ingested_at
FROM {client_activity_parts} AS p
LEFT JOIN stated AS s
  ON s.cluster = p.cluster AND s.broker = p.broker AND s.connection_id = p.connection_id AND s.first_at = p.first_at
