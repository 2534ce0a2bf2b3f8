-- The ranges of versions that each process of a broker is known to have advertised (KIP-35), with when the process began and ended.
-- A broker may have another release after a restart, so a range counts only for the processes that answered with it first or last.
-- process_began is 1970 if no earlier start is known; process_ended is null if no later start is known: it is the newest process.
SELECT cluster, broker, listener, api_key, api_name, min_version, max_version, first_seen, last_seen, process_began,
       array_min(filter(starts, start -> start > process_began)) AS process_ended
FROM (
  SELECT *, explode(array_distinct(array_append(array_repeat(began_first, 1), began_last))) AS process_began
  FROM (
    SELECT r.*, c.starts,
           coalesce(array_max(filter(c.starts, start -> start < r.first_seen)), timestamp_micros(0)) AS began_first,
           coalesce(array_max(filter(c.starts, start -> start < r.last_seen)), timestamp_micros(0)) AS began_last
    FROM {broker_api_versions} AS r
    LEFT JOIN {log_coverage} AS c ON r.cluster = c.cluster AND r.broker = c.broker
  ) AS r
) AS p
