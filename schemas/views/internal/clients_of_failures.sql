-- The client of each request that a broker refused with a closed connection, if the request log has earlier requests of that very connection.
--
--   what could look the same                                  | so it counts only if
--   ----------------------------------------------------------|----------------------------------------------------------
--   an id that was used again: the client's port was          | the id ends with the broker's own number of the connection
--   the same after a restart, which numbers from 0 again      | no start of the broker lies in between
--   the same after connections.max.idle.ms                    | the silence is no longer than that
--   a second failure: the first one had closed the connection | it is the first after the connection's last request
--   a masked id or port, which many connections share         | the port is a port, and no request of the id is logged later
--   a connection of several client ids, as of a proxy         | the connection has one client id
--   another principal in server.log                           | server.log names none, or the same
WITH failures AS (
  SELECT cluster, broker, file_id, byte_offset, connection_id, logged_at, principal
  FROM {failed_requests}
  WHERE regexp_extract(substring(connection_id, 1, 600), '(?s)^.+:[0-9]+-.+:[1-9][0-9]*-([0-9]+)(-[0-9]+)?\z', 1) <> ''
    AND connection_id NOT LIKE {masked_ids}
),
-- The newest connection of the id that had begun before the failure.
newest AS (
  SELECT f.cluster, f.broker, f.file_id, f.byte_offset, f.connection_id, f.logged_at, f.principal AS logged_principal,
         c.opened_at, c.opened_seq, c.last_request_at, c.role, c.client_id_other, c.principal, c.client_id,
         c.client_software_name, c.client_software_version,
         row_number() OVER (PARTITION BY f.file_id, f.byte_offset ORDER BY c.opened_at DESC, c.opened_seq DESC) AS number
  FROM failures AS f
  JOIN {connections} AS c
    ON f.cluster = c.cluster AND f.broker = c.broker AND f.connection_id = c.connection_id AND c.opened_at <= f.logged_at
),
in_order AS (
  SELECT *, min(logged_at) OVER (PARTITION BY cluster, broker, connection_id, opened_at, opened_seq) AS closed_at
  FROM newest
  WHERE number = 1
)
SELECT n.file_id, n.byte_offset,
       named_struct(
         'principal', n.principal, 'client_id', n.client_id, 'client_software_name', n.client_software_name,
         'client_software_version', n.client_software_version
       ) AS client
FROM in_order AS n
LEFT JOIN {log_coverage} AS l ON n.cluster = l.cluster AND n.broker = l.broker
WHERE n.role = 'client' AND coalesce(n.client_id_other, 0) = 0
  AND n.logged_at = n.closed_at AND n.last_request_at <= n.logged_at
  AND unix_micros(n.logged_at) - unix_micros(n.last_request_at) <= CAST({max_idle_ms} AS BIGINT) * 1000
  AND coalesce(size(filter(l.starts, start -> start > n.opened_at AND start <= n.logged_at)), 0) <= 0
  AND (n.logged_principal IS NULL OR n.logged_principal IS NOT DISTINCT FROM n.principal)
