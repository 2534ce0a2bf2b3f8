-- What the newest run knew of each broker's log.
SELECT cluster, broker, newest.covered_from, newest.covered_until, newest.starts, newest.whole_periods, ingested_at
FROM (
  SELECT cluster, broker, max(ingested_at) AS ingested_at,
         max_by(named_struct(
           'covered_from', covered_from, 'covered_until', covered_until, 'starts', starts, 'whole_periods', whole_periods
         ), ingested_at) AS newest
  FROM {log_coverage_parts}
  GROUP BY cluster, broker
) AS p
