-- What each client does over time: requests with their times and errors per API and bucket of time, and connections opened and ended. Stays when retention deletes requests.
WITH summed AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener, api_name, bucket,
           sum(requests) AS requests,
           collect_list(requests_by_minute) AS minutes_of_parts,
           collect_list(errors) AS errors_of_parts,
           sum(error_count) AS error_count,
           named_struct(
               'up_to_0_1', sum(latency.up_to_0_1), 'up_to_0_18', sum(latency.up_to_0_18), 'up_to_0_32', sum(latency.up_to_0_32),
               'up_to_0_56', sum(latency.up_to_0_56), 'up_to_1', sum(latency.up_to_1), 'up_to_1_8', sum(latency.up_to_1_8),
               'up_to_3_2', sum(latency.up_to_3_2), 'up_to_5_6', sum(latency.up_to_5_6), 'up_to_10', sum(latency.up_to_10),
               'up_to_18', sum(latency.up_to_18), 'up_to_32', sum(latency.up_to_32), 'up_to_56', sum(latency.up_to_56),
               'up_to_100', sum(latency.up_to_100), 'up_to_180', sum(latency.up_to_180), 'up_to_320', sum(latency.up_to_320),
               'up_to_560', sum(latency.up_to_560), 'up_to_1000', sum(latency.up_to_1000), 'up_to_1800', sum(latency.up_to_1800),
               'up_to_3200', sum(latency.up_to_3200), 'up_to_5600', sum(latency.up_to_5600), 'up_to_10000', sum(latency.up_to_10000),
               'up_to_18000', sum(latency.up_to_18000), 'up_to_32000', sum(latency.up_to_32000), 'up_to_56000', sum(latency.up_to_56000),
               'up_to_100000', sum(latency.up_to_100000), 'up_to_180000', sum(latency.up_to_180000),
               'up_to_320000', sum(latency.up_to_320000),
               'up_to_560000', sum(latency.up_to_560000), 'up_to_1000000', sum(latency.up_to_1000000), 'above', sum(latency.above)
           ) AS latency,
           -- Times are added up in whole microseconds, because a sum of doubles would depend on the order.
           sum(CAST(floor(total_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS total_time_ms_sum,
           max(total_time_ms_max) AS total_time_ms_max,
           sum(CAST(floor(request_queue_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS request_queue_time_ms_sum,
           max(request_queue_time_ms_max) AS request_queue_time_ms_max,
           sum(CAST(floor(local_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS local_time_ms_sum,
           max(local_time_ms_max) AS local_time_ms_max,
           sum(CAST(floor(remote_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS remote_time_ms_sum,
           max(remote_time_ms_max) AS remote_time_ms_max,
           sum(CAST(floor(throttle_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS throttle_time_ms_sum,
           max(throttle_time_ms_max) AS throttle_time_ms_max,
           sum(CAST(floor(response_queue_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS response_queue_time_ms_sum,
           max(response_queue_time_ms_max) AS response_queue_time_ms_max,
           sum(CAST(floor(send_time_ms_sum * 1000 + 0.5) AS BIGINT)) / 1000 AS send_time_ms_sum,
           max(send_time_ms_max) AS send_time_ms_max,
           sum(throttled) AS throttled,
           sum(CAST(floor(throttled_ms * 1000 + 0.5) AS BIGINT)) / 1000 AS throttled_ms,
           max(ingested_at) AS ingested_at
    FROM {activity_of_clients}
    GROUP BY cluster, broker, principal, client_id, client_software_name, client_software_version, listener, api_name, bucket
),
of_requests AS (
    SELECT *,
           -- Most rows have one part, or none with errors. The numbers are minutes and error codes.
           CASE WHEN size(minutes_of_parts) < 2 THEN get(minutes_of_parts, 0)
                ELSE map_from_entries(transform(
               array_sort(array_distinct(flatten(transform(minutes_of_parts, part -> map_keys(part))))),
               number -> named_struct('key', number, 'value', list_sum(transform(minutes_of_parts, part -> coalesce(part[number], 0))))
           )) END AS requests_by_minute,
           CASE WHEN size(errors_of_parts) < 2 THEN get(errors_of_parts, 0)
                ELSE map_from_entries(transform(
               array_sort(array_distinct(flatten(transform(errors_of_parts, part -> map_keys(part))))),
               number -> named_struct('key', number, 'value', list_sum(transform(errors_of_parts, part -> coalesce(part[number], 0))))
           )) END AS errors
    FROM summed
),

newest_of_ids AS (
    SELECT cluster, broker, connection_id, max(session_no) AS session_no FROM {connections} GROUP BY cluster, broker, connection_id
),
logs AS (
    SELECT cluster, broker, max(last_logged_at) AS logged_until FROM {ingested_files} GROUP BY cluster, broker
),
-- A connection is known to have ended if another one has taken its id, or if the broker still logged requests when it would
-- have closed it for being idle.
known AS (
    SELECT c.cluster, c.broker, c.principal, c.client_id, c.client_software_name, c.client_software_version, c.listener,
           CASE WHEN c.start IN ('observed', 'hidden_by_sasl') THEN c.opened_at END AS opened_at,
           CASE WHEN c.session_no < n.session_no
                  OR unix_micros(c.last_request_at) + CAST({max_idle_ms} AS BIGINT) * 1000 <= unix_micros(l.logged_until)
                THEN c.last_request_at END AS ended_at
    FROM {connections} AS c
    JOIN newest_of_ids AS n ON c.cluster = n.cluster AND c.broker = n.broker AND c.connection_id = n.connection_id
    LEFT JOIN logs AS l ON c.cluster = l.cluster AND c.broker = l.broker
),
in_buckets AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener,
           CAST(floor(unix_micros(opened_at) / ({bucket_seconds} * 1e6)) AS BIGINT) AS opened_in,
           CAST(floor(unix_micros(ended_at) / ({bucket_seconds} * 1e6)) AS BIGINT) AS ended_in,
           count(*) AS connections
    FROM known
    GROUP BY ALL
),
of_connections AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener, bucket_no,
           sum(opened) AS connections_opened, sum(ended) AS connections_ended
    FROM (
        SELECT *, opened_in AS bucket_no, connections AS opened, 0 AS ended FROM in_buckets WHERE opened_in IS NOT NULL
        UNION ALL
        SELECT *, ended_in, 0, connections FROM in_buckets WHERE ended_in IS NOT NULL
    ) AS events
    GROUP BY ALL
)

SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener, api_name, bucket,
       requests, requests_by_minute, errors, error_count, latency,
       total_time_ms_sum, total_time_ms_max, request_queue_time_ms_sum, request_queue_time_ms_max,
       local_time_ms_sum, local_time_ms_max, remote_time_ms_sum, remote_time_ms_max,
       throttle_time_ms_sum, throttle_time_ms_max, response_queue_time_ms_sum, response_queue_time_ms_max,
       send_time_ms_sum, send_time_ms_max,
       throttled, throttled_ms, ingested_at, 0 AS connections_opened, 0 AS connections_ended
FROM of_requests
UNION ALL
SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener, NULL,
       timestamp_micros(bucket_no * {bucket_seconds} * 1000000), 0, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, connections_opened, connections_ended
FROM of_connections
