-- Storms of short connections: many of them in each of several minutes in a row, of one client from one host to one broker.
-- A connection is short if its last request comes soon after its first. One alone proves nothing: it may stay open and idle,
-- as the one by which a client finds the cluster. What looks the same, and is no storm:
--
--     all clients reconnect after a broker restarts | that is over within a minute or two
--     many processes start, with one proxy or NAT   | a good part of their connections is in use, so not short
--     a script that cron starts, a health check     | they make few connections a minute
--     a log that begins while connections are open  | their start is not observed; where SASL hides it, connections count
--                                                   | only after connections.max.idle.ms
--     the log ends, or leaves out requests          | silence counts only in periods that hold every request
--     a log that holds handshakes only              | it has no connection that goes on after its handshake
WITH
-- Minutes with many connections, of which nearly all are short.
full_minutes AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host, minute
    FROM {opened_connections}
    GROUP BY ALL
    HAVING count_if(is_short) >= {short_connections_per_minute} AND count_if(is_short) * 100 >= count(*) * 90
),
-- The log may have been filtered for handshakes. A handshake without SASL has two requests at most: a second ApiVersions
-- follows if the version of the first is refused.
brokers_with_more AS (
    SELECT DISTINCT cluster, broker FROM {connections} WHERE role = 'client' AND requests > 2
),
-- The log would show earlier and later requests of these connections; it must go on for a minute after the last one. Where
-- SASL hides the start, the connection may have been open when the period began: then the broker would have closed it
-- before max_idle_ms had passed in silence.
short AS (
    SELECT o.*
    FROM {opened_connections} AS o
    JOIN full_minutes AS f
      ON o.cluster = f.cluster AND o.broker = f.broker AND o.minute = f.minute AND o.listener IS NOT DISTINCT FROM f.listener
     AND o.principal IS NOT DISTINCT FROM f.principal AND o.client_id IS NOT DISTINCT FROM f.client_id
     AND o.client_software_name = f.client_software_name AND o.client_software_version = f.client_software_version
     AND o.remote_host IS NOT DISTINCT FROM f.remote_host
    JOIN brokers_with_more AS b ON o.cluster = b.cluster AND o.broker = b.broker
    JOIN {log_coverage} AS l ON o.cluster = l.cluster AND o.broker = l.broker
    WHERE o.is_short
      AND size(filter(l.whole_periods, period ->
          unix_micros(o.opened_at) >= unix_micros(period.whole_from)
                                      + CASE WHEN o.start = 'hidden_by_sasl' THEN period.max_idle_ms * 1000 ELSE 0 END
          AND unix_micros(o.last_request_at) + 60000000 <= unix_micros(period.whole_until))) > 0
),
-- What a connection did besides its handshake, and besides what clients look up before they can do what they are there for.
uses AS (
    SELECT u.cluster, u.broker, u.connection_id, u.opened_at, u.opened_seq,
           sum(CASE WHEN u.api_name IN ('API_VERSIONS', 'SASL_HANDSHAKE', 'SASL_AUTHENTICATE') THEN 0 ELSE u.requests END)
               AS after_handshake,
           sum(CASE WHEN u.is_work THEN u.requests ELSE 0 END) AS work,
           max(CASE WHEN u.is_work THEN u.api_name END) AS work_api
    FROM (
        SELECT *, api_name NOT IN ('API_VERSIONS', 'SASL_HANDSHAKE', 'SASL_AUTHENTICATE', 'METADATA', 'FIND_COORDINATOR',
                                   'INIT_PRODUCER_ID', 'GET_TELEMETRY_SUBSCRIPTIONS', 'PUSH_TELEMETRY') AS is_work
        FROM {api_usage}
        -- Without this condition DuckDB adds up all of api_usage before it joins.
        WHERE coalesce(remote_host, '') IN (SELECT coalesce(remote_host, '') FROM full_minutes)
    ) AS u
    JOIN short AS s
      ON u.cluster = s.cluster AND u.broker = s.broker AND u.connection_id = s.connection_id
     AND u.opened_at = s.opened_at AND u.opened_seq = s.opened_seq
    GROUP BY u.cluster, u.broker, u.connection_id, u.opened_at, u.opened_seq
),
by_minute AS (
    SELECT s.cluster, s.broker, s.listener, s.principal, s.client_id, s.client_software_name, s.client_software_version,
           s.remote_host, s.minute, count(*) AS connections, count_if(u.after_handshake = 0) AS handshakes,
           count_if(u.work = 1) AS singles, max(CASE WHEN u.work = 1 THEN u.work_api END) AS single_api,
           min(s.opened_at) AS first_at, max(s.last_request_at) AS last_at,
           min_by(
               named_struct('connection_id', s.connection_id, 'opened_at', s.opened_at, 'log_generation', s.log_generation),
               named_struct('opened_at', s.opened_at, 'opened_seq', s.opened_seq, 'connection_id', s.connection_id)
           ) AS first_connection
    FROM short AS s
    JOIN uses AS u
      ON s.cluster = u.cluster AND s.broker = u.broker AND s.connection_id = u.connection_id
     AND s.opened_at = u.opened_at AND s.opened_seq = u.opened_seq
    GROUP BY s.cluster, s.broker, s.listener, s.principal, s.client_id, s.client_software_name, s.client_software_version,
             s.remote_host, s.minute
    HAVING count(*) >= {short_connections_per_minute}
),
-- Minutes in a row have the same difference to their number.
in_runs AS (
    SELECT *, minute - row_number() OVER (
               PARTITION BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host
               ORDER BY minute
           ) AS run
    FROM by_minute
),
long_runs AS (
    SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host,
           sum(connections) AS connections, sum(handshakes) AS handshakes, sum(singles) AS singles, max(single_api) AS single_api,
           count(*) AS minutes, max(connections) AS most, min(first_at) AS first_at, max(last_at) AS last_at,
           min(minute) AS first_minute, min_by(first_connection, minute) AS first_connection
    FROM in_runs
    GROUP BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host, run
    HAVING count(*) >= {minutes}
)
SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host,
       sum(connections) AS connections, sum(handshakes) AS handshakes, sum(singles) AS singles, max(single_api) AS single_api,
       sum(minutes) AS minutes, max(most) AS most, min(first_at) AS first_at, max(last_at) AS last_at,
       min_by(first_connection, first_minute) AS first_connection
FROM long_runs
GROUP BY cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host
