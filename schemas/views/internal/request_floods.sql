-- Floods of requests: far more of one API in each of several minutes in a row than a client sends in the median of its minutes.
-- Or so many that no client needs them, whatever the median. What looks the same, and is no flood:
--
--     many processes or hosts have one client id    | limits are per connection that uses the API at that time
--     all clients ask again after a broker restarts | that is over within a minute or two
--     clients retry by their defaults               | the limits are above that
--     a job, a script or an exporter comes at times | its median is that of the minutes in which it sends at all
--     the log's level was set to DEBUG              | only minutes count in which the log holds every request
--     several clients share a connection (a proxy)  | requests with another client id than the connection's first one
--                                                   | belong to no connection, so nobody is accused of them
--
-- Brokers and forwarding connections are left out with all that has their client id.
WITH counted AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version, bucket,
           requests, requests_by_minute
    FROM {activity_of_clients}
    -- APIs that clients need now and then; how often they produce and fetch is what they are there for.
    WHERE api_name IN ('METADATA', 'OFFSET_COMMIT', 'FIND_COORDINATOR', 'API_VERSIONS', 'OFFSET_FETCH', 'LIST_OFFSETS',
                       'INIT_PRODUCER_ID', 'JOIN_GROUP', 'HEARTBEAT', 'DESCRIBE_CLUSTER', 'DESCRIBE_CONFIGS',
                       'DESCRIBE_GROUPS', 'LIST_GROUPS')
),
may_flood AS (
    SELECT DISTINCT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version
    FROM (
        SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version, bucket
        FROM counted
        GROUP BY ALL
        HAVING sum(requests) >= {requests_per_minute}
    ) AS busy_buckets
),
entries AS (
    SELECT c.cluster, c.broker, c.listener, c.principal, c.client_id, c.api_name, c.client_software_name,
           c.client_software_version, c.bucket, explode(map_entries(c.requests_by_minute)) AS entry
    FROM counted AS c
    JOIN may_flood AS m
      ON c.cluster = m.cluster AND c.broker = m.broker AND c.listener IS NOT DISTINCT FROM m.listener
     AND c.principal IS NOT DISTINCT FROM m.principal AND c.client_id IS NOT DISTINCT FROM m.client_id
     AND c.api_name = m.api_name AND c.client_software_name = m.client_software_name
     AND c.client_software_version = m.client_software_version
),
by_minute AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version, minute,
           CAST(sum(requests) AS BIGINT) AS requests
    FROM (
        SELECT *, CAST(floor(unix_micros(bucket) / 6e7) AS BIGINT) + entry.key AS minute, entry.value AS requests FROM entries
    ) AS e
    GROUP BY cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version, minute
),
-- The log holds every request from the beginning of the minute to its end.
covered AS (
    SELECT m.*
    FROM by_minute AS m JOIN {log_coverage} AS l ON m.cluster = l.cluster AND m.broker = l.broker
    WHERE size(filter(l.whole_periods, period -> m.minute * 60000000 >= unix_micros(period.whole_from)
                                                 AND (m.minute + 1) * 60000000 <= unix_micros(period.whole_until))) > 0
),
-- The lower median.
medians AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version,
           get(array_sort(collect_list(requests)), CAST(floor((count(*) - 1) / 2) AS INT)) AS median
    FROM covered
    GROUP BY ALL
),
high AS (
    SELECT *
    FROM (
        SELECT c.*, m.median,
               CASE WHEN c.requests >= m.median * {times_median} THEN {requests_per_minute}
                    ELSE {requests_per_minute_always} END AS lowest
        FROM covered AS c
        JOIN medians AS m
          ON c.cluster = m.cluster AND c.broker = m.broker AND c.listener IS NOT DISTINCT FROM m.listener
         AND c.principal IS NOT DISTINCT FROM m.principal AND c.client_id IS NOT DISTINCT FROM m.client_id
         AND c.api_name = m.api_name AND c.client_software_name = m.client_software_name
         AND c.client_software_version = m.client_software_version
    ) AS with_limit
    WHERE requests >= lowest
),
-- A connection uses an API from its first such request to its last. The software is left out, as records state another one
-- before the handshake has ended.
uses AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, connection_id, opened_at, opened_seq, role, remote_host,
           CAST(sum(requests) AS BIGINT) AS sent,
           floor(unix_micros(min(first_at)) / 6e7) AS from_minute, floor(unix_micros(max(last_at)) / 6e7) AS to_minute
    FROM (
        SELECT u.*
        FROM {api_usage} AS u
        JOIN (SELECT DISTINCT cluster, broker, listener, principal, client_id, api_name FROM high) AS h
          ON u.cluster = h.cluster AND u.broker = h.broker AND u.api_name = h.api_name
         AND u.listener IS NOT DISTINCT FROM h.listener AND u.principal IS NOT DISTINCT FROM h.principal
         AND u.client_id IS NOT DISTINCT FROM h.client_id
    ) AS of_clients
    GROUP BY cluster, broker, listener, principal, client_id, api_name, connection_id, opened_at, opened_seq, role, remote_host
),
flooded AS (
    SELECT h.cluster, h.broker, h.listener, h.principal, h.client_id, h.api_name, h.client_software_name,
           h.client_software_version, h.minute, h.requests, h.median, count(*) AS users,
           max(named_struct('sent', u.sent, 'opened_at', u.opened_at, 'opened_seq', u.opened_seq,
                            'connection_id', u.connection_id)) AS busiest
    FROM high AS h
    JOIN uses AS u
      ON h.cluster = u.cluster AND h.broker = u.broker AND h.listener IS NOT DISTINCT FROM u.listener
     AND h.principal IS NOT DISTINCT FROM u.principal AND h.client_id IS NOT DISTINCT FROM u.client_id
     AND h.api_name = u.api_name AND h.minute BETWEEN u.from_minute AND u.to_minute
    GROUP BY h.cluster, h.broker, h.listener, h.principal, h.client_id, h.api_name, h.client_software_name,
             h.client_software_version, h.minute, h.requests, h.median, h.lowest
    HAVING bool_and(u.role = 'client') AND h.requests >= h.lowest * count(*)
),
-- Minutes in a row have the same difference to their number.
in_runs AS (
    SELECT *, minute - row_number() OVER (
               PARTITION BY cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version
               ORDER BY minute
           ) AS run
    FROM flooded
),
long_runs AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version,
           sum(requests) AS requests, count(*) AS minutes, max(requests) AS most, max(users) AS users, max(median) AS median,
           min(minute) AS first_minute, max(minute) AS last_minute, max(busiest) AS busiest
    FROM in_runs
    GROUP BY cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version, run
    HAVING count(*) >= {minutes}
),
floods AS (
    SELECT cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version,
           sum(requests) AS requests, sum(minutes) AS minutes, max(most) AS most, max(users) AS users, max(median) AS median,
           min(first_minute) AS first_minute, max(last_minute) AS last_minute, max(busiest) AS busiest
    FROM long_runs
    GROUP BY cluster, broker, listener, principal, client_id, api_name, client_software_name, client_software_version
)
SELECT f.cluster, f.broker, f.listener, f.principal, f.client_id, f.api_name, f.client_software_name, f.client_software_version,
       f.requests, f.minutes, f.most, f.users, f.median,
       timestamp_micros(f.first_minute * 60000000) AS first_at, timestamp_micros((f.last_minute + 1) * 60000000) AS last_at,
       c.remote_host,
       named_struct('connection_id', c.connection_id, 'opened_at', c.opened_at, 'log_generation', c.log_generation) AS busiest
FROM floods AS f
JOIN {connections} AS c
  ON f.cluster = c.cluster AND f.broker = c.broker AND f.busiest.connection_id = c.connection_id
 AND f.busiest.opened_at = c.opened_at AND f.busiest.opened_seq = c.opened_seq
