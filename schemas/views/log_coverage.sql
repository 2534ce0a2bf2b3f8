-- What the newest run knew of each broker's log.
SELECT p.cluster, p.broker, p.covered_from, p.covered_until, p.starts, p.whole_periods, p.ingested_at
FROM {log_coverage_parts} AS p
JOIN (SELECT cluster, broker, max(ingested_at) AS ingested_at FROM {log_coverage_parts} GROUP BY cluster, broker) AS newest
  ON p.cluster = newest.cluster AND p.broker = newest.broker AND p.ingested_at = newest.ingested_at
