-- KIP-511's gauge over time: per bucket of time, how many connections each software holds open. A connection counts as open from its first record to its last one, as the log tells no more: a lower bound.
-- A connection may have been open before its first record, if its start is not observed, and after its last one, until the
-- client or connections.max.idle.ms closed it.
-- Each connection makes two events. They sort by the time in microseconds, twice, so that openings come before closings of the same time.
WITH events AS (
    SELECT cluster, broker, listener, client_software_name, client_software_version, role,
           2 * unix_micros(opened_at) AS place, 1 AS change, start = 'before_log' AS is_unseen
    FROM {connections}
    UNION ALL
    SELECT cluster, broker, listener, client_software_name, client_software_version, role,
           2 * unix_micros(last_request_at) + 1 AS place, -1 AS change, false AS is_unseen
    FROM {connections}
),
-- The number of open connections after each event; events of one place count together.
running AS (
    SELECT *, sum(change) OVER (
               PARTITION BY cluster, broker, listener, client_software_name, client_software_version, role ORDER BY place
           ) AS open_now
    FROM events
),
buckets AS (
    SELECT cluster, broker, listener, client_software_name, client_software_version, role,
           CAST(floor(place / (2e6 * {bucket_seconds})) AS BIGINT) AS number,
           count_if(change = 1) AS opened, count_if(change = -1) AS closed, count_if(is_unseen) AS start_unseen,
           max(open_now) AS highest, max_by(open_now, place) AS open_at_end
    FROM running
    GROUP BY ALL
),
neighbours AS (
    SELECT *,
           coalesce(lag(open_at_end) OVER (
               PARTITION BY cluster, broker, listener, client_software_name, client_software_version, role ORDER BY number
           ), 0) AS open_before,
           lead(number) OVER (
               PARTITION BY cluster, broker, listener, client_software_name, client_software_version, role ORDER BY number
           ) AS next_number
    FROM buckets
),
-- Between buckets with events connections may stay open. Of a longer gap only 2,000 buckets are filled, and the last one is marked.
runs AS (
    SELECT *, CASE WHEN open_at_end > 0 THEN least(next_number - 1, number + 2000) ELSE number END AS last_number,
           coalesce(open_at_end > 0 AND next_number - 1 > number + 2000, false) AS has_cut
    FROM neighbours
),
filled AS (
    SELECT *, explode(sequence(number, last_number)) AS bucket_number FROM runs
)
SELECT cluster, broker, listener, client_software_name, client_software_version, role,
       timestamp_micros(bucket_number * {bucket_seconds} * 1000000) AS bucket,
       CASE WHEN bucket_number = number THEN open_before + opened ELSE open_at_end END AS open,
       CASE WHEN bucket_number = number THEN greatest(highest, open_before) ELSE open_at_end END AS open_max,
       open_at_end,
       CASE WHEN bucket_number = number THEN opened ELSE 0 END AS opened,
       CASE WHEN bucket_number = number THEN closed ELSE 0 END AS closed,
       CASE WHEN bucket_number = number THEN start_unseen ELSE 0 END AS start_unseen,
       has_cut AND bucket_number = last_number AS is_cut
FROM filled
