-- Clients that quotas throttle for much of an hour, or of several: one row per client, listener and broker.
-- A record states how long its request was throttled, and not by which quota; the API narrows that down. The time is the
-- longest of all quotas that apply. A broker that throttles a client does what its quotas ask for, so this is information.
-- A client's time is that of its connections: many processes with one client id have as much more of it.
WITH throttled AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, api_name, bucket
    FROM {activity_of_clients}
    GROUP BY ALL
    HAVING sum(throttled) > 0
),
-- Times are added up in whole microseconds, because a sum of doubles would depend on the order.
by_api AS (
    SELECT p.cluster, p.broker, p.listener, p.principal, p.client_id, p.client_software_name, p.client_software_version,
           p.api_name, CAST(floor(unix_micros(p.bucket) / 6e7) AS BIGINT) AS bucket_minute, sum(p.throttled) AS requests,
           CAST(sum(CAST(floor(p.throttled_ms * 1000 + 0.5) AS BIGINT)) AS BIGINT) AS micros,
           array_distinct(flatten(collect_list(map_keys(p.requests_by_minute)))) AS numbers
    FROM {activity_of_clients} AS p
    JOIN throttled AS t
      ON p.cluster = t.cluster AND p.broker = t.broker AND p.listener IS NOT DISTINCT FROM t.listener
     AND p.principal IS NOT DISTINCT FROM t.principal AND p.client_id IS NOT DISTINCT FROM t.client_id
     AND p.client_software_name = t.client_software_name AND p.client_software_version = t.client_software_version
     AND p.api_name = t.api_name AND p.bucket = t.bucket
    GROUP BY p.cluster, p.broker, p.listener, p.principal, p.client_id, p.client_software_name, p.client_software_version,
             p.api_name, p.bucket
),
by_bucket AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, bucket_minute,
           sum(requests) AS requests, sum(micros) AS micros,
           sum(CASE WHEN api_name = 'PRODUCE' THEN micros END) AS of_produce,
           sum(CASE WHEN api_name IN ('FETCH', 'SHARE_FETCH') THEN micros END) AS of_fetch,
           sum(CASE WHEN api_name IN ('CREATE_TOPICS', 'CREATE_PARTITIONS', 'DELETE_TOPICS') THEN micros END) AS of_mutations,
           sum(CASE WHEN api_name NOT IN ('PRODUCE', 'FETCH', 'SHARE_FETCH', 'CREATE_TOPICS', 'CREATE_PARTITIONS', 'DELETE_TOPICS')
                    THEN micros END) AS of_others,
           -- The client sent a throttled API in so many minutes at least.
           max(size(numbers)) AS minutes,
           bucket_minute + min(array_min(numbers)) AS first_minute, bucket_minute + max(array_max(numbers)) AS last_minute
    FROM by_api
    GROUP BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version, bucket_minute
),
-- Buckets that are longer than an hour stay whole.
by_hour AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version,
           sum(requests) AS requests, sum(micros) AS micros, sum(of_produce) AS of_produce, sum(of_fetch) AS of_fetch,
           sum(of_mutations) AS of_mutations, sum(of_others) AS of_others,
           min(first_minute) AS first_minute, max(last_minute) AS last_minute
    FROM by_bucket
    GROUP BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version, floor(bucket_minute / 60)
    HAVING sum(minutes) >= {minutes} AND sum(micros) / 1000 * 100 >= {throttled_percent} * {minutes} * 60000
),
-- A period in which the log holds every request has all of the client's.
covered AS (
    SELECT h.*, h.first_minute * 60000000 AS began, (h.last_minute + 1) * 60000000 AS ended
    FROM by_hour AS h JOIN {log_coverage} AS l ON h.cluster = l.cluster AND h.broker = l.broker
    WHERE size(filter(l.whole_periods, period -> (h.first_minute + 1) * 60000000 > unix_micros(period.whole_from)
                                                 AND h.last_minute * 60000000 < unix_micros(period.whole_until))) > 0
),
-- How long the client's connections lasted in these minutes, and the connection with the most requests.
timed AS (
    SELECT h.cluster, h.broker, h.listener, h.principal, h.client_id, h.client_software_name, h.client_software_version,
           h.requests, h.micros, h.of_produce, h.of_fetch, h.of_mutations, h.of_others, h.began, h.ended,
           floor(sum(least(unix_micros(c.last_request_at), h.ended) - greatest(unix_micros(c.opened_at), h.began)) / 1000)
               AS connected_ms,
           max(named_struct('requests', c.requests, 'opened_at', c.opened_at, 'opened_seq', c.opened_seq,
                            'connection_id', c.connection_id)) AS longest
    FROM covered AS h
    JOIN {connections} AS c
      ON h.cluster = c.cluster AND h.broker = c.broker AND h.listener IS NOT DISTINCT FROM c.listener
     AND h.principal IS NOT DISTINCT FROM c.principal AND h.client_id IS NOT DISTINCT FROM c.client_id
     AND unix_micros(c.opened_at) < h.ended AND unix_micros(c.last_request_at) >= h.began
    GROUP BY h.cluster, h.broker, h.listener, h.principal, h.client_id, h.client_software_name, h.client_software_version,
             h.requests, h.micros, h.of_produce, h.of_fetch, h.of_mutations, h.of_others, h.began, h.ended
    HAVING bool_and(c.role = 'client')
),
much AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version,
           sum(requests) AS requests, sum(of_produce) AS of_produce, sum(of_fetch) AS of_fetch, sum(of_mutations) AS of_mutations,
           sum(of_others) AS of_others, sum(connected_ms) AS connected_ms, min(began) AS began, max(ended) AS ended,
           max(longest) AS longest
    FROM timed
    WHERE micros / 1000 * 100 >= connected_ms * {throttled_percent}
    GROUP BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version
)
SELECT t.cluster, t.broker, t.listener, t.principal, t.client_id, t.client_software_name, t.client_software_version,
       t.requests, t.of_produce / 1000 AS produce_ms, t.of_fetch / 1000 AS fetch_ms, t.of_mutations / 1000 AS mutations_ms,
       t.of_others / 1000 AS others_ms, t.connected_ms, timestamp_micros(t.began) AS first_at, timestamp_micros(t.ended) AS last_at,
       c.remote_host,
       named_struct('connection_id', c.connection_id, 'opened_at', c.opened_at, 'log_generation', c.log_generation) AS longest
FROM much AS t
JOIN {connections} AS c
  ON t.cluster = c.cluster AND t.broker = c.broker AND t.longest.connection_id = c.connection_id
 AND t.longest.opened_at = c.opened_at AND t.longest.opened_seq = c.opened_seq
