-- The ranges of versions that each process of a broker is known to have advertised (KIP-35), with when the process began and ended.
-- A broker may have another release after a restart, so a range counts only for the processes that answered with it first or last.
-- process_began is 1970 if no earlier start is known; process_ended is null if no later start is known: it is the newest process.
WITH ranges AS (
  SELECT cluster, broker, listener, api_key, api_name, min_version, max_version, first_seen, last_seen FROM {broker_api_versions}
),
starts AS (
  SELECT cluster, broker, explode(starts) AS process_began FROM {log_coverage}
  UNION
  SELECT cluster, broker, timestamp_micros(0) AS process_began FROM ranges
),
processes AS (
  SELECT cluster, broker, process_began,
         lead(process_began) OVER (PARTITION BY cluster, broker ORDER BY process_began) AS process_ended
  FROM starts
)
SELECT r.cluster, r.broker, r.listener, r.api_key, r.api_name, r.min_version, r.max_version, r.first_seen, r.last_seen,
       p.process_began, p.process_ended
FROM ranges AS r
JOIN processes AS p
  ON r.cluster = p.cluster AND r.broker = p.broker
  AND (
    (r.first_seen > p.process_began AND (p.process_ended IS NULL OR r.first_seen <= p.process_ended))
    OR (r.last_seen > p.process_began AND (p.process_ended IS NULL OR r.last_seen <= p.process_ended))
  )
