-- Per client, API and version: who used it, and whether the client or the broker kept the version from being higher.
-- A log shows the versions that a client uses, but not all that it knows. So each use is judged by what limited it:
--
--     limited by  | evidence                                        | at a release without the version
--     ------------|-------------------------------------------------|---------------------------------------------
--     the client  | the broker offers more, or it never negotiates  | it breaks, because it knows no newer one
--     the broker  | it negotiates (KIP-35) and uses the highest one | it may well know a newer one, and use that
--
--     unknown         | the broker may be too old to offer more         | it may know a newer one, too
--
-- Kafka's own client of a release knows no higher versions than the brokers of that release. So a share consumer of 4.0, which
-- knows v0 only, is limited by itself also at a broker of 4.0.
WITH negotiating AS (
  -- All connections of a client count, as one answer may serve several.
  SELECT cluster, principal, client_id,
         bool_or(api_versions_outcome IN ('negotiated', 'fell_back', 'negotiated_after_invalid_request')) AS negotiates
  FROM {connections}
  WHERE role = 'client'
  GROUP BY cluster, principal, client_id
),
offered AS (
  -- The highest version that all listeners of a broker offer.
  SELECT cluster, broker, process_began, api_key, min(max_version) AS broker_max
  FROM {process_api_versions}
  GROUP BY cluster, broker, process_began, api_key
),
taken AS (
  -- The highest version that anybody used, brokers too.
  SELECT cluster, broker, process_began, api_key, max(api_version) AS highest_taken
  FROM (
    SELECT u.cluster, u.broker, u.api_key, u.api_version,
           coalesce(array_max(filter(c.starts, start -> start < u.first_at)), timestamp_micros(0)) AS process_began
    FROM {api_usage} AS u
    LEFT JOIN {log_coverage} AS c ON u.cluster = c.cluster AND u.broker = c.broker
  ) AS taken_by_all
  GROUP BY cluster, broker, process_began, api_key
),
floor AS (
  -- What the oldest brokers offer that log requests as this one does.
  SELECT c.cluster, c.broker, k.api_key, k.advertised_max
  FROM (
    SELECT cluster, broker, CASE WHEN bool_and(log_generation = 'json') THEN '2.8.2' ELSE '1.0.2' END AS oldest
    FROM {connections}
    GROUP BY cluster, broker
    HAVING bool_and(log_generation IN ('json', 'request_header_struct'))
  ) AS c
  JOIN {kafka_releases} AS k ON c.oldest = k.release
),
several_headers AS (
  -- A connection may use a version with header v3 (KIP-1313) and without it; then only one of its rows is counted.
  SELECT cluster, broker, connection_id, opened_at, opened_seq, api_key, api_version,
         max(coalesce(header_version, -1)) AS counted_header
  FROM {api_usage}
  WHERE header_version IS NULL OR header_version >= 3
  GROUP BY cluster, broker, connection_id, opened_at, opened_seq, api_key, api_version
),
limited AS (
  SELECT u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.api_key, u.api_name,
         u.api_version, u.header_version, u.requests, u.first_at, u.last_at, u.info_only, u.remote_host, u.api_versions_outcome,
         h.counted_header IS NULL OR h.counted_header = coalesce(u.header_version, -1) AS is_counted,
         CASE
           WHEN u.advertised_max IS NOT NULL THEN CASE WHEN u.api_version = u.advertised_max THEN 'broker' ELSE 'client' END
           -- A deprecated version has had newer ones for a long time, so the client could have used one.
           WHEN u.deprecated THEN 'client'
           WHEN o.broker_max IS NOT NULL THEN CASE WHEN u.api_version >= o.broker_max THEN 'broker' ELSE 'client' END
           -- No range is logged (before 1.0, or hidden by SASL), but others use more, or brokers of its kind offer more.
           WHEN u.api_version < t.highest_taken OR u.api_version < f.advertised_max THEN 'client'
         END AS limited_by
  FROM (
    SELECT u.*, coalesce(array_max(filter(c.starts, start -> start < u.first_at)), timestamp_micros(0)) AS process_began
    FROM {api_usage} AS u
    LEFT JOIN {log_coverage} AS c ON u.cluster = c.cluster AND u.broker = c.broker
    WHERE u.role = 'client'
  ) AS u
  JOIN taken AS t
    ON u.cluster = t.cluster AND u.broker = t.broker AND u.process_began = t.process_began AND u.api_key = t.api_key
  LEFT JOIN offered AS o
    ON u.cluster = o.cluster AND u.broker = o.broker AND u.process_began = o.process_began AND u.api_key = o.api_key
  LEFT JOIN floor AS f ON u.cluster = f.cluster AND u.broker = f.broker AND u.api_key = f.api_key
  LEFT JOIN several_headers AS h
    ON u.cluster = h.cluster AND u.broker = h.broker AND u.connection_id = h.connection_id AND u.opened_at = h.opened_at
    AND u.opened_seq = h.opened_seq AND u.api_key = h.api_key AND u.api_version = h.api_version
),
of_clients AS (
  SELECT cluster, principal, client_id, client_software_name, client_software_version, api_key, api_version,
         max(api_name) AS api_name, sum(requests) AS requests, count(*) FILTER (WHERE is_counted) AS connections,
         collect_set(remote_host) AS hosts, min(first_at) AS first_seen, max(last_at) AS last_seen,
         bool_and(info_only) AS info_only, bool_or(coalesce(header_version >= 3, false)) AS header_v3,
         bool_or(api_versions_outcome = 'not_sent') AS asked_nothing,
         bool_or(coalesce(limited_by = 'client', false)) AS by_client,
         bool_and(coalesce(limited_by = 'broker', false)) AS by_broker
  FROM limited
  GROUP BY cluster, principal, client_id, client_software_name, client_software_version, api_key, api_version
),
outgrown AS (
  -- Per series of releases: the APIs of which a later release takes newer versions only.
  SELECT o.series, o.api_key, o.own_max
  FROM (
    SELECT regexp_extract(release, '^([0-9]+[.][0-9]+)', 1) AS series, api_key, max(advertised_max) AS own_max
    FROM {kafka_releases} GROUP BY regexp_extract(release, '^([0-9]+[.][0-9]+)', 1), api_key
  ) AS o
  JOIN (SELECT api_key, max(accepted_min) AS newest_min FROM {kafka_releases} GROUP BY api_key) AS n
    ON o.api_key = n.api_key AND o.own_max < n.newest_min
)
SELECT u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.api_key, u.api_name,
       u.api_version, u.requests, u.connections, size(u.hosts) AS hosts,
       slice(array_sort(u.hosts), 1, 20) AS host_list, u.first_seen, u.last_seen, u.info_only, u.header_v3,
       u.asked_nothing AND NOT n.negotiates AS never_negotiates,
       CASE
         WHEN u.by_client OR (u.asked_nothing AND NOT n.negotiates) OR g.own_max <= u.api_version THEN 'client'
         -- Where the log shows nothing of the limit, a client that negotiates uses the highest version that both know.
         WHEN u.by_broker OR n.negotiates THEN 'broker'
         ELSE 'unknown'
       END AS limited_by
FROM of_clients AS u
JOIN negotiating AS n
  ON u.cluster = n.cluster AND u.principal IS NOT DISTINCT FROM n.principal AND u.client_id IS NOT DISTINCT FROM n.client_id
LEFT JOIN outgrown AS g
  ON u.client_software_name = 'apache-kafka-java' AND u.api_key = g.api_key
  AND regexp_extract(u.client_software_version, '^([0-9]+[.][0-9]+)', 1) = g.series
