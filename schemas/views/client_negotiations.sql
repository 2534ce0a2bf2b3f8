-- Per client (host, principal, client id) that does not ask every broker anew for its versions, or of which a request was refused with a closed connection: what it may have gone by, and what it tried next (KIP-35). Two programs of one host, or behind one NAT, may share all three: those that use an API in other versions if they do not ask are taken for two, and left out.
-- A broker's answer to ApiVersions is valid on its own connection only, so KIP-35 has a client ask again after a disconnection.
WITH connections_of_clients AS (
  SELECT cluster, remote_host, principal, client_id, opened_at, broker, connection_id, opened_seq, coalesce(listener, '') AS listener,
         api_versions_outcome <> 'not_sent' AS asks
  FROM {connections}
  WHERE role = 'client' AND api_versions_outcome IN ('negotiated', 'fell_back', 'negotiated_after_invalid_request', 'not_sent')
),
clients AS (
  SELECT cluster, remote_host, principal, client_id
  FROM connections_of_clients
  GROUP BY cluster, remote_host, principal, client_id
  HAVING bool_or(asks) AND bool_or(NOT asks)
),
used_versions AS (
  SELECT u.cluster, u.remote_host, u.principal, u.client_id, u.api_key,
         bool_or(u.api_versions_outcome <> 'not_sent') AS by_asking, bool_or(u.api_versions_outcome = 'not_sent') AS by_silent
  FROM {api_usage} AS u
  JOIN clients AS c
    ON u.cluster = c.cluster AND u.remote_host IS NOT DISTINCT FROM c.remote_host
    AND u.principal IS NOT DISTINCT FROM c.principal AND u.client_id IS NOT DISTINCT FROM c.client_id
  WHERE u.role = 'client'
    AND u.api_versions_outcome IN ('negotiated', 'fell_back', 'negotiated_after_invalid_request', 'not_sent')
  GROUP BY u.cluster, u.remote_host, u.principal, u.client_id, u.api_key, u.api_version
),
used_apis AS (
  SELECT cluster, remote_host, principal, client_id,
         bool_or(by_asking) AND bool_or(by_silent) AND NOT bool_or(by_asking AND by_silent) AS differs
  FROM used_versions
  GROUP BY cluster, remote_host, principal, client_id, api_key
),
-- Clients are certainly two programs if connections that ask and those that do not have no version of some API in common.
single_programs AS (
  SELECT cluster, remote_host, principal, client_id
  FROM used_apis
  GROUP BY cluster, remote_host, principal, client_id
  HAVING NOT bool_or(differs)
),
in_time AS (
  SELECT c.*,
         count(CASE WHEN c.asks THEN 1 END) OVER (
           PARTITION BY c.cluster, c.remote_host, c.principal, c.client_id
           ORDER BY c.opened_at, c.broker, c.connection_id, c.opened_seq
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
         ) AS asked
  FROM connections_of_clients AS c
  JOIN single_programs AS s
    ON c.cluster = s.cluster AND c.remote_host IS NOT DISTINCT FROM s.remote_host
    AND c.principal IS NOT DISTINCT FROM s.principal AND c.client_id IS NOT DISTINCT FROM s.client_id
),
-- Connections that do not ask, with the last one before them that did.
learnt AS (
  SELECT c.*, a.opened_at AS learnt_at, a.broker AS learnt_from, a.listener AS learnt_on
  FROM in_time AS c
  JOIN in_time AS a
    ON c.cluster = a.cluster AND c.remote_host IS NOT DISTINCT FROM a.remote_host
    AND c.principal IS NOT DISTINCT FROM a.principal AND c.client_id IS NOT DISTINCT FROM a.client_id AND c.asked = a.asked
  WHERE NOT c.asks AND a.asks
),
reusing AS (
  SELECT c.cluster, c.remote_host, c.principal, c.client_id, c.opened_at, c.broker, c.connection_id, c.opened_seq,
         c.learnt_at, c.learnt_from,
         slice(array_sort(collect_list(
           -- If one of the two ranges is not known, nothing is known to have changed.
           CASE WHEN here.min_version <> there.min_version OR here.max_version <> there.max_version THEN named_struct(
             'api_name', u.api_name, 'api_version', u.api_version,
             'learnt', named_struct('low', there.min_version, 'high', there.max_version),
             'advertised', named_struct('low', here.min_version, 'high', here.max_version)
           ) END
         )), 1, 20) AS changed
  FROM learnt AS c
  JOIN {api_usage} AS u
    ON c.cluster = u.cluster AND c.broker = u.broker AND c.connection_id = u.connection_id
    AND c.opened_at = u.opened_at AND c.opened_seq = u.opened_seq
  LEFT JOIN {advertised_ranges} AS here
    ON c.cluster = here.cluster AND c.broker = here.broker AND c.listener = here.listener AND u.api_key = here.api_key
    AND c.opened_at >= here.advertised_from AND c.opened_at < here.advertised_until
  LEFT JOIN {advertised_ranges} AS there
    ON c.cluster = there.cluster AND c.learnt_from = there.broker AND c.learnt_on = there.listener
    AND u.api_key = there.api_key
    AND c.learnt_at >= there.advertised_from AND c.learnt_at < there.advertised_until
  GROUP BY c.cluster, c.remote_host, c.principal, c.client_id, c.opened_at, c.broker, c.connection_id, c.opened_seq,
    c.learnt_at, c.learnt_from
),
reusing_in_order AS (
  SELECT *,
         row_number() OVER (
           PARTITION BY cluster, remote_host, principal, client_id
           ORDER BY size(changed) = 0, opened_at, broker, connection_id, opened_seq
         ) AS place
  FROM reusing
),
refused AS (
  SELECT cluster, broker, remote_host, api_key, api_version AS refused_version, max(api_name) AS api_name,
         count(*) AS refusals, min(logged_at) AS first_refused_at, max(logged_at) AS last_refused_at
  FROM {failed_requests}
  WHERE reason = 'unsupported_version' AND api_version IS NOT NULL
  GROUP BY cluster, broker, remote_host, api_key, api_version
),
-- Versions of one run follow each other: their distance to their number is equal.
refused_runs AS (
  SELECT *,
         CAST(refused_version AS BIGINT)
           - row_number() OVER (PARTITION BY cluster, broker, remote_host, api_key ORDER BY refused_version) AS run
  FROM refused
),
-- Clients go down at once, and up one by one: a higher version follows a refusal only if all between were refused too.
tried AS (
  SELECT *,
         CAST(max(refused_version) OVER (PARTITION BY cluster, broker, remote_host, api_key, run) AS BIGINT) + 1 AS highest_next
  FROM refused_runs
),
retries AS (
  SELECT t.cluster, t.broker, t.remote_host, t.api_key, t.refused_version,
         min_by(
           named_struct(
             'first_at', u.first_at, 'version', u.api_version, 'connection_id', u.connection_id,
             'principal', u.principal, 'client_id', u.client_id
           ),
           named_struct(
             'first_at', u.first_at, 'version', u.api_version, 'connection_id', u.connection_id,
             'has_principal', u.principal IS NOT NULL, 'principal', coalesce(u.principal, ''),
             'has_client_id', u.client_id IS NOT NULL, 'client_id', coalesce(u.client_id, '')
           )
         ) AS retry
  FROM tried AS t
  JOIN {api_usage} AS u
    ON t.cluster = u.cluster AND t.broker = u.broker AND t.remote_host = u.remote_host AND t.api_key = u.api_key
    AND u.first_at >= t.first_refused_at AND u.api_version <> t.refused_version AND u.api_version <= t.highest_next
  WHERE u.role = 'client'
  GROUP BY t.cluster, t.broker, t.remote_host, t.api_key, t.refused_version
),
refused_in_order AS (
  SELECT t.cluster, t.remote_host, r.retry.principal AS principal, r.retry.client_id AS client_id,
         t.first_refused_at, t.last_refused_at, t.broker, t.api_name, t.refused_version, t.refusals,
         r.retry.version AS retried_version, r.retry.first_at AS retried_at, r.retry.connection_id AS connection_id,
         row_number() OVER (
           PARTITION BY t.cluster, t.remote_host, r.retry.principal, r.retry.client_id
           ORDER BY t.first_refused_at, t.last_refused_at, t.broker, t.api_name NULLS FIRST, t.refused_version, t.refusals,
             r.retry.version NULLS FIRST, r.retry.first_at NULLS FIRST, r.retry.connection_id NULLS FIRST
         ) AS place
  FROM tried AS t
  LEFT JOIN retries AS r
    ON t.cluster = r.cluster AND t.broker = r.broker AND t.remote_host = r.remote_host AND t.api_key = r.api_key
    AND t.refused_version = r.refused_version
),
found AS (
  SELECT cluster, remote_host, principal, client_id,
         1 AS reusing, CASE WHEN size(changed) > 0 THEN 1 ELSE 0 END AS outdated,
         CASE WHEN place <= 20 THEN named_struct('place', place, 'entry', named_struct(
           'opened_at', opened_at, 'broker', broker, 'connection_id', connection_id, 'opened_seq', opened_seq,
           'learnt_at', learnt_at, 'learnt_from', learnt_from, 'changed', changed
         )) END AS reused,
         NULL AS refused
  FROM reusing_in_order
  UNION ALL
  SELECT cluster, remote_host, principal, client_id,
         0 AS reusing, 0 AS outdated,
         NULL AS reused,
         named_struct('place', place, 'entry', named_struct(
           'first_refused_at', first_refused_at, 'last_refused_at', last_refused_at, 'broker', broker, 'api_name', api_name,
           'refused_version', refused_version, 'refusals', refusals, 'retried_version', retried_version,
           'retried_at', retried_at, 'connection_id', connection_id
         )) AS refused
  FROM refused_in_order
  WHERE place <= 20
)
SELECT cluster, remote_host, principal, client_id, sum(reusing) AS reusing_connections, sum(outdated) AS outdated_connections,
       transform(array_sort(collect_list(reused)), r -> r.entry) AS reused,
       transform(array_sort(collect_list(refused)), r -> r.entry) AS refused
FROM found
GROUP BY cluster, remote_host, principal, client_id
