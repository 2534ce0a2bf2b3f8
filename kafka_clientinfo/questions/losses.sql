-- The topics and groups that lose a client: those of connections that sent a request which the release refuses.
-- Only some connections of a client may break, as many programs may have its id. The log's topics are summed up by
-- client, broker, operation and day: a connection may have used the topic if it sent such requests to that broker in
-- that time.
--
-- connections that may have sent the first, or last, request for the topic | the client's use of the topic
-- -------------------------------------------------------------------------|------------------------------
-- all sent a refused request                                               | breaks
-- not all did, and one of them, or of those in between, sent one           | may break
-- none did, nor any in between                                             | does not break
--
-- A consumer fetches on another connection than that of its group: a group may break with any of its client and host.
refused_uses AS (
  SELECT DISTINCT {client}, api_key, api_version FROM uses_at WHERE rank = {refused}
),
breaking_clients AS (
  SELECT DISTINCT {client} FROM refused_uses
),
sent AS (
  SELECT u.cluster, u.broker, u.connection_id, u.opened_at, u.opened_seq, u.principal, u.client_id,
         u.client_software_name, u.client_software_version, u.remote_host, u.first_at, u.last_at,
         {operation_of_api} AS operation, r.api_key IS NOT NULL AS is_refused
  FROM {api_usage} AS u
  JOIN breaking_clients AS c ON {same_client}
  LEFT JOIN refused_uses AS r ON {same_use}
  WHERE u.role = 'client'
),
connections_of_them AS (
  SELECT *, bool_or(is_refused) OVER (PARTITION BY {connection}) AS breaks FROM sent
),
carriers AS (
  SELECT broker AS lane, {client}, operation, min(first_at) AS first_at, max(last_at) AS last_at, breaks
  FROM connections_of_them
  WHERE operation IS NOT NULL
  GROUP BY {connection}, {client}, operation, breaks
  UNION ALL
  SELECT coalesce(remote_host, ''), {client}, 'group', min(first_at), max(last_at), breaks
  FROM connections_of_them
  GROUP BY {connection}, {client}, remote_host, breaks
),
uses AS (
  SELECT u.broker AS lane, u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version,
         u.operation, {topic_name} AS name, u.first_at, u.last_at, false AS breaks
  FROM {topic_usage} AS u
  JOIN breaking_clients AS c ON {same_client}
  WHERE {topic_name} IS NOT NULL AND u.operation <> 'replicate'
  UNION ALL
  SELECT coalesce(g.remote_host, ''), g.cluster, g.principal, g.client_id, g.client_software_name,
         g.client_software_version, 'group', g.group_id, o.first_at, o.last_at, o.breaks
  FROM {connection_groups} AS g
  JOIN (
    SELECT {connection}, breaks, min(first_at) AS first_at, max(last_at) AS last_at
    FROM connections_of_them
    GROUP BY {connection}, breaks
  ) AS o ON {same_connection}
  WHERE g.takes_part
),
-- In order of time: connections begin before what is sent in the same instant, and end after it.
events AS (
  SELECT lane, {client}, operation,
         first_at AS happened_at, 0 AS place, 1 AS begun, CASE WHEN breaks THEN 1 ELSE 0 END AS begun_that_break,
         0 AS ended, 0 AS ended_that_break,
         CAST(NULL AS STRING) AS name, CAST(NULL AS TIMESTAMP) AS first_at, CAST(NULL AS TIMESTAMP) AS last_at,
         false AS is_first, false AS breaks
  FROM carriers
  UNION ALL SELECT lane, {client}, operation, last_at, 2, 0, 0, 1, CASE WHEN breaks THEN 1 ELSE 0 END, NULL, NULL, NULL, false, false FROM carriers
  UNION ALL SELECT lane, {client}, operation, first_at, 1, 0, 0, 0, 0, name, first_at, last_at, true, breaks FROM uses
  UNION ALL SELECT lane, {client}, operation, last_at, 1, 0, 0, 0, 0, name, first_at, last_at, false, breaks FROM uses
),
counted AS (
  SELECT lane, {client}, operation, name, first_at, last_at, is_first, breaks, place, sum(begun) OVER so_far AS begun,
         sum(begun_that_break) OVER so_far AS begun_that_break, sum(ended) OVER so_far AS ended,
         sum(ended_that_break) OVER so_far AS ended_that_break
  FROM events
  WINDOW so_far AS (PARTITION BY lane, {client}, operation ORDER BY happened_at, place
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- How many connections there were at the first request and at the last one, and at any time from the one to the other.
counts_of_uses AS (
  SELECT {client}, operation, name, bool_or(breaks) AS breaks,
         max(CASE WHEN is_first THEN begun - ended END) AS at_first,
         max(CASE WHEN is_first THEN begun_that_break - ended_that_break END) AS broken_at_first,
         max(CASE WHEN NOT is_first THEN begun - ended END) AS at_last,
         max(CASE WHEN NOT is_first THEN begun_that_break - ended_that_break END) AS broken_at_last,
         max(CASE WHEN NOT is_first THEN begun END) - max(CASE WHEN is_first THEN ended END) AS overlapping,
         max(CASE WHEN NOT is_first THEN begun_that_break END) - max(CASE WHEN is_first THEN ended_that_break END) AS broken_overlapping
  FROM counted
  WHERE place = 1
  GROUP BY lane, {client}, operation, name, first_at, last_at
),
verdicts AS (
  SELECT {client}, operation, name,
         bool_or(breaks OR (at_first > 0 AND at_first = broken_at_first) OR (at_last > 0 AND at_last = broken_at_last)) AS breaks,
         -- If no connection is known to have sent it, as after a change of the software's name, the client is what is known.
         bool_or(broken_overlapping > 0 OR overlapping = 0) AS may_break
  FROM counts_of_uses
  GROUP BY {client}, operation, name
)
