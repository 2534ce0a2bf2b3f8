-- Requests and logins that a broker refused, as only its server.log shows, each with the rule of violations that it breaks.
--
--   rule                          | when
--   ------------------------------|----------------------------------------------------------------------------------
--   advertised_version_refused    | the broker advertised the version, so it must support it (KIP-35)
--   request_version_refused       | the broker did not advertise the version, so the client must not use it
--   version_refused_without_offer | answers don't show for certain what the broker advertised; nobody is blamed
--   wrong_listener                | a controller's listener was asked for what only brokers serve, or the reverse
--   request_unreadable            | the broker does not know the API, or could not read the request
--   login_failed                  | authentication failed
--
-- A running broker answers ApiVersions equally on all connections of a listener, so an answer to another connection shows
-- what this client was offered. Answers before the broker's last start don't count: it may have had another release.
WITH numbered AS (
  SELECT *, nullif(regexp_extract(substring(connection_id, 1, 600), '(?s)^.+:([0-9]+)-.+:[0-9]+(-[0-9]+)?(-[0-9]+)?\z', 1), '') AS port
  FROM {failed_requests}
  WHERE reason IN ('unsupported_version', 'unknown_api', 'unreadable_request', 'failed_authentication')
),
-- To find ports takes time, so it is done once for all connections that are alike up to the client's host, and only for
-- brokers that refused a request on an unknown listener.
ends_of_brokers AS (
  SELECT DISTINCT c.cluster, c.broker, c.listener,
         coalesce(split_part(c.connection_id, '-' || c.remote_host || ':', 1) || '-client:0', c.connection_id) AS connection_id
  FROM {connections} AS c
  JOIN (SELECT DISTINCT cluster, broker FROM numbered WHERE listener IS NULL AND port IS NOT NULL) AS n
    ON c.cluster = n.cluster AND c.broker = n.broker
  WHERE c.listener IS NOT NULL
),
known_ports AS (
  SELECT cluster, broker, listener,
         regexp_extract(substring(connection_id, 1, 600), '(?s)^.+:([0-9]+)-.+:[0-9]+(-[0-9]+)?(-[0-9]+)?\z', 1) AS port
  FROM ends_of_brokers
),
-- server.log mostly names only the port. It is a listener's if all connections on it name the same one.
listeners AS (
  SELECT cluster, broker, port, min(listener) AS listener
  FROM known_ports
  GROUP BY cluster, broker, port
  HAVING min(listener) = max(listener)
),
-- Controllers' listeners are those in the settings and those that answer ApiVersions as only controllers do.
controllers AS (
  SELECT v.cluster, v.listener
  FROM {broker_api_versions} AS v
  JOIN {api_names} AS a ON v.api_key = a.api_key
  WHERE v.listener IS NOT NULL
  GROUP BY v.cluster, v.listener
  HAVING bool_or(a.served_by_controllers_only) AND NOT bool_or(a.served_by_brokers_only)
),
failed AS (
  SELECT f.cluster, f.broker, f.file_id, f.byte_offset, f.logged_at, f.connection_id, f.remote_host, f.principal,
         f.api_key, f.api_name, f.api_version, f.reason, f.detail, coalesce(f.listener, l.listener) AS listener,
         -- Kafka's words if a listener does not serve an API; from 3.x on, also for versions that no listener serves.
         contains(f.detail, 'which is not enabled') AS not_enabled
  FROM numbered AS f
  LEFT JOIN listeners AS l ON f.cluster = l.cluster AND f.broker = l.broker AND f.port = l.port
),
-- The ranges on offer depend on these alone.
asked AS (
  SELECT DISTINCT cluster, broker, listener, api_key, api_version, logged_at FROM failed WHERE reason = 'unsupported_version'
),
-- An answer on any listener counts if that of the request is unknown; those of controllers never count.
ranges AS (
  SELECT cluster, broker, listener, api_key, min_version, max_version, first_seen, last_seen, process_began, process_ended
  FROM {process_api_versions}
  WHERE NOT coalesce(listener IN {controller_listeners}, false)
),
answers AS (
  SELECT cluster, broker, listener, process_began, process_ended, min(first_seen) AS first_seen
  FROM ranges
  GROUP BY cluster, broker, listener, process_began, process_ended
),
answered AS (
  SELECT q.cluster, q.broker, q.listener, q.api_key, q.api_version, q.logged_at, count(a.broker) > 0 AS was_answered
  FROM asked AS q
  LEFT JOIN answers AS a
    ON q.cluster = a.cluster AND q.broker = a.broker AND (q.listener IS NULL OR q.listener = a.listener)
    AND q.logged_at > a.process_began AND (a.process_ended IS NULL OR q.logged_at <= a.process_ended)
    AND q.logged_at >= a.first_seen
  GROUP BY q.cluster, q.broker, q.listener, q.api_key, q.api_version, q.logged_at
),
ranges_of_api AS (
  SELECT q.*, r.first_seen > q.logged_at AS is_later,
         CASE WHEN r.first_seen <= q.logged_at THEN least(r.last_seen, r.process_ended, q.logged_at) END AS answered_until,
         q.api_version BETWEEN r.min_version AND r.max_version AS has_version,
         named_struct(
           'listener', coalesce(r.listener, ''), 'first_seen', r.first_seen, 'last_seen', r.last_seen,
           'low', r.min_version, 'high', r.max_version
         ) AS offer
  FROM answered AS q
  LEFT JOIN ranges AS r
    ON q.cluster = r.cluster AND q.broker = r.broker AND (q.listener IS NULL OR q.listener = r.listener)
    AND q.api_key = r.api_key
    AND q.logged_at > r.process_began AND (r.process_ended IS NULL OR q.logged_at <= r.process_ended)
),
-- The newest answer before the request counts. Several ranges are on offer if listeners differ, or if a range was replaced
-- and restored.
compared AS (
  SELECT *,
         answered_until = max(answered_until) OVER (
           PARTITION BY cluster, broker, listener, api_key, api_version, logged_at
         ) AS is_offered
  FROM ranges_of_api
),
offers AS (
  SELECT cluster, broker, listener, api_key, api_version, logged_at,
         -- An answer lists all APIs, so a missing one is not offered; unless a later answer of this process has it.
         coalesce(bool_or(is_offered), was_answered AND NOT coalesce(bool_or(is_later), false)) AS knows_offer,
         coalesce(bool_or(is_offered AND has_version), false) AS inside,
         coalesce(bool_or(is_offered AND NOT has_version), false) AS outside,
         min(CASE WHEN is_offered THEN offer END) AS offer
  FROM compared
  GROUP BY cluster, broker, listener, api_key, api_version, logged_at, was_answered
),
with_offers AS (
  SELECT f.*, o.offer,
         CASE WHEN f.listener IS NOT NULL
           THEN coalesce(f.listener IN {controller_listeners}, false) OR c.listener IS NOT NULL
         END AS on_controller,
         coalesce(a.served_by_brokers_only, false) AS of_brokers,
         coalesce(a.served_by_controllers_only, false) AS of_controllers,
         coalesce(o.knows_offer, false) AS knows_offer,
         coalesce(o.inside, false) AS inside,
         coalesce(o.inside AND NOT o.outside, false) AS surely_inside
  FROM failed AS f
  LEFT JOIN controllers AS c ON f.cluster = c.cluster AND f.listener = c.listener
  LEFT JOIN {api_names} AS a ON f.api_key = a.api_key
  LEFT JOIN offers AS o
    ON f.cluster = o.cluster AND f.broker = o.broker AND f.logged_at = o.logged_at
    AND f.listener IS NOT DISTINCT FROM o.listener AND f.api_key IS NOT DISTINCT FROM o.api_key
    AND f.api_version IS NOT DISTINCT FROM o.api_version
),
at_listeners AS (
  SELECT *,
         CASE WHEN on_controller THEN of_brokers ELSE on_controller IS NOT NULL AND of_controllers AND not_enabled END
           AS is_at_wrong_listener
  FROM with_offers
),
judged AS (
  SELECT *,
         CASE
           WHEN reason = 'failed_authentication' THEN 'login_failed'
           WHEN reason <> 'unsupported_version' THEN 'request_unreadable'
           -- What brokers advertise is enabled on their listeners.
           WHEN is_at_wrong_listener OR (not_enabled AND on_controller IS NULL AND of_brokers AND surely_inside)
             THEN 'wrong_listener'
           WHEN surely_inside AND NOT not_enabled THEN 'advertised_version_refused'
           WHEN knows_offer AND api_version IS NOT NULL AND NOT inside AND NOT (not_enabled AND on_controller IS NULL)
             THEN 'request_version_refused'
           ELSE 'version_refused_without_offer'
         END AS rule,
         CASE
           WHEN reason <> 'unsupported_version' OR is_at_wrong_listener OR NOT knows_offer OR not_enabled THEN ''
           WHEN offer IS NULL THEN ' although no version was offered'
           ELSE ' although v' || CAST(offer.low AS STRING) || ' to v' || CAST(offer.high AS STRING) || ' was offered'
         END AS although
  FROM at_listeners
)
-- The client is null if the connection is not known; its client id may be null too.
SELECT j.*, c.client, c.file_id IS NOT NULL AS is_client_known
FROM judged AS j
LEFT JOIN {clients_of_failures} AS c ON j.file_id = c.file_id AND j.byte_offset = c.byte_offset
