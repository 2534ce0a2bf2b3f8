-- Who is slow, and where the time goes: per client and API the requests, half and 99 % of which took at most p50_ms and p99_ms (from client_latency: the true times are more than 1/1.8 of these, up to 1,000,000 ms), the longest, the mean, what it is made of, and who is throttled. Without brokers' own requests.
SELECT a.cluster, a.principal, a.client_id, a.api_name, a.requests, p.p50_ms, p.p99_ms, a.max_ms,
       floor(CAST(a.total_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_ms,
       floor(CAST(a.request_queue_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_request_queue_ms,
       floor(CAST(a.local_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_local_ms,
       floor(CAST(a.remote_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_remote_ms,
       floor(CAST(a.throttle_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_throttle_ms,
       floor(CAST(a.response_queue_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_response_queue_ms,
       floor(CAST(a.send_us AS DOUBLE) / a.requests + 0.5) / 1000 AS mean_send_ms,
       a.throttled, CAST(a.throttled_us AS DOUBLE) / 1000 AS throttle_ms, a.first_bucket, a.last_bucket
FROM (
    SELECT cluster, principal, client_id, api_name, CAST(sum(requests) AS BIGINT) AS requests,
           max(total_time_ms_max) AS max_ms, floor(sum(total_time_ms_sum) * 1000 + 0.5) AS total_us,
           floor(sum(request_queue_time_ms_sum) * 1000 + 0.5) AS request_queue_us,
           floor(sum(local_time_ms_sum) * 1000 + 0.5) AS local_us,
           floor(sum(remote_time_ms_sum) * 1000 + 0.5) AS remote_us,
           floor(sum(throttle_time_ms_sum) * 1000 + 0.5) AS throttle_us,
           floor(sum(throttled_ms) * 1000 + 0.5) AS throttled_us,
           floor(sum(response_queue_time_ms_sum) * 1000 + 0.5) AS response_queue_us,
           floor(sum(send_time_ms_sum) * 1000 + 0.5) AS send_us,
           CAST(sum(throttled) AS BIGINT) AS throttled,
           min(bucket) AS first_bucket, max(bucket) AS last_bucket
    FROM {client_activity} AS o
    WHERE api_name IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM {names_of_brokers} AS b
        WHERE b.cluster = o.cluster AND b.principal IS NOT DISTINCT FROM o.principal AND b.client_id IS NOT DISTINCT FROM o.client_id
    )
    GROUP BY cluster, principal, client_id, api_name
) AS a
LEFT JOIN (
    SELECT cluster, principal, client_id, api_name,
           min(CASE WHEN running * 100 >= total * 50 THEN up_to_ms END) AS p50_ms,
           min(CASE WHEN running * 100 >= total * 99 THEN up_to_ms END) AS p99_ms
    FROM (
        SELECT cluster, principal, client_id, api_name, up_to_ms,
               sum(requests) OVER (PARTITION BY cluster, principal, client_id, api_name ORDER BY up_to_ms) AS running,
               sum(requests) OVER (PARTITION BY cluster, principal, client_id, api_name) AS total
        FROM {client_latency} AS l
    ) AS w
    GROUP BY cluster, principal, client_id, api_name
) AS p ON p.cluster = a.cluster AND p.api_name = a.api_name AND p.principal IS NOT DISTINCT FROM a.principal
      AND p.client_id IS NOT DISTINCT FROM a.client_id
ORDER BY p.p99_ms DESC, a.requests DESC, a.cluster, a.principal, a.client_id, a.api_name
