-- Findings on what clients do over time: storms of short connections, floods of requests, and throttled clients.
-- Findings on clients with the same connection become one: one row per rule and connection id.
WITH storms AS (
    SELECT *,
           -- If nearly all connections end after the handshake, or after one request besides it and lookups, that is the rule.
           CASE WHEN handshakes * 100 >= connections * 90 THEN 'handshake_only_connections'
                WHEN singles * 100 >= connections * 90 THEN 'connection_per_request'
                ELSE 'reconnect_storm' END AS rule
    FROM {connection_storms}
),
found AS (
    SELECT rule, cluster, broker, client_id, principal, client_software_name, client_software_version, remote_host,
           connections AS occurrences, first_at, last_at, first_connection AS connection,
           CAST(connections AS STRING) || ' connections of at most ' || CAST({short_seconds} AS STRING) || ' s in '
           || CAST(minutes AS STRING) || ' minutes, up to ' || CAST(most AS STRING) || ' a minute'
           || CASE rule WHEN 'handshake_only_connections' THEN ' that ended with the handshake'
                        WHEN 'connection_per_request' THEN ' for one request each, such as ' || single_api
                        ELSE '' END AS message
    FROM storms
    UNION ALL
    SELECT 'request_flood', cluster, broker, client_id, principal, client_software_name, client_software_version, remote_host,
           requests, first_at, last_at, busiest,
           CAST(requests AS STRING) || ' ' || api_name || ' requests in ' || CAST(minutes AS STRING) || ' minutes, up to '
           || CAST(most AS STRING) || ' a minute (connections: ' || CAST(users AS STRING)
           || '); the median of its minutes is ' || CAST(median AS STRING)
    FROM {request_floods}
    UNION ALL
    -- A client may have several requests under way that wait for the same time, so this is no share of its time.
    SELECT 'throttled', cluster, broker, client_id, principal, client_software_name, client_software_version, remote_host,
           requests, first_at, last_at, longest,
           CAST(requests AS STRING) || ' requests were throttled for '
           || concat_ws(
               ', ',
               CASE WHEN produce_ms > 0
                    THEN CAST(CAST(floor(produce_ms / 1000) AS BIGINT) AS STRING) || ' s by producer_byte_rate or request_percentage' END,
               CASE WHEN fetch_ms > 0
                    THEN CAST(CAST(floor(fetch_ms / 1000) AS BIGINT) AS STRING) || ' s by consumer_byte_rate or request_percentage' END,
               CASE WHEN mutations_ms > 0
                    THEN CAST(CAST(floor(mutations_ms / 1000) AS BIGINT) AS STRING)
                         || ' s by controller_mutation_rate or request_percentage' END,
               CASE WHEN others_ms > 0
                    THEN CAST(CAST(floor(others_ms / 1000) AS BIGINT) AS STRING) || ' s by request_percentage' END
           )
           || ', while its connections lasted ' || CAST(CAST(floor(connected_ms / 1000) AS BIGINT) AS STRING) || ' s'
    FROM {throttled_clients}
),
with_example AS (
    SELECT *,
           -- Only JSON records surely have the connection id on their first line.
           '^\[' || local_time(connection.opened_at) || '\] [A-Z]+ Completed request:'
           || CASE WHEN connection.log_generation = 'json'
                   THEN '.*"connection":"' || grep_escaped(connection.connection_id) || '"'
                   ELSE '' END AS grep
    FROM found
),
by_connection_id AS (
    SELECT rule, cluster, broker, connection.connection_id AS connection_id, sum(occurrences) AS occurrences,
           min(first_at) AS first_at, max(last_at) AS last_at,
           array_join(slice(array_sort(collect_set(message)), 1, 3), '; ') AS message,
           min_by(
               named_struct(
                   'client_id', client_id, 'principal', principal, 'client_software_name', client_software_name,
                   'client_software_version', client_software_version, 'remote_host', remote_host,
                   'opened_at', connection.opened_at, 'grep', grep
               ),
               -- Several clients may have the same connection, with the same message.
               named_struct(
                   'first_at', first_at, 'message', message, 'client_id', coalesce(client_id, ''),
                   'principal', coalesce(principal, ''), 'client_software_name', client_software_name,
                   'client_software_version', client_software_version, 'remote_host', coalesce(remote_host, ''),
                   'opened_at', connection.opened_at
               )
           ) AS earliest
    FROM with_example
    GROUP BY rule, cluster, broker, connection.connection_id
)
SELECT rule, cluster, broker, connection_id, CAST(NULL AS STRING) AS group_id, earliest.client_id AS client_id, earliest.principal AS principal,
       earliest.client_software_name AS client_software_name, earliest.client_software_version AS client_software_version,
       earliest.remote_host AS remote_host, CAST(occurrences AS BIGINT) AS occurrences, CAST(NULL AS BIGINT) AS rejected,
       CAST(NULL AS BIGINT) AS taken, first_at, last_at,
       named_struct('logged_at', earliest.opened_at, 'correlation_id', CAST(NULL AS INT), 'grep', earliest.grep) AS example,
       message, CAST(NULL AS BOOLEAN) AS binds, CAST(NULL AS STRING) AS blames
FROM by_connection_id
