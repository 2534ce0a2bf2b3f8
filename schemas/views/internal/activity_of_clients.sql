-- The parts of client_activity. A request that states no client id counts for the one that its connection has stated (KIP-1313).
SELECT cluster, broker, principal, coalesce(CASE WHEN size(ids) = 1 THEN nullif(get(ids, 0), '') END, client_id) AS client_id,
       client_software_name, client_software_version, listener, api_name, bucket,
       requests, requests_by_minute, errors, error_count, latency, total_time_ms_sum, total_time_ms_max,
       request_queue_time_ms_sum, request_queue_time_ms_max, local_time_ms_sum, local_time_ms_max,
       remote_time_ms_sum, remote_time_ms_max, throttle_time_ms_sum, throttle_time_ms_max,
       response_queue_time_ms_sum, response_queue_time_ms_max, send_time_ms_sum, send_time_ms_max, throttled,
       throttled_ms, ingested_at
FROM (
    SELECT p.*, array_distinct(transform(
               filter(s.stated, c -> c.last_request >= unix_micros(p.bucket)
                                     AND c.opened < unix_micros(p.bucket) + CAST({bucket_seconds} AS BIGINT) * 1000000),
               c -> c.client_id
           )) AS ids
    FROM {client_activity_parts} AS p
    LEFT JOIN {stated_client_ids} AS s ON s.cluster = p.cluster AND s.broker = p.broker AND s.connection_id = p.connection_id
) AS p
