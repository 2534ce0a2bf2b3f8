-- What the newest run that read a log of the broker knew of its logs.
SELECT cluster, broker, newest.covered_from AS covered_from, newest.covered_until AS covered_until, newest.starts AS starts,
       newest.whole_periods AS whole_periods, ingested_at
FROM (
  SELECT cluster, broker, max(ingested_at) AS ingested_at, max_by(log_coverage, ingested_at) AS newest
  FROM {ingested_files}
  WHERE log_coverage IS NOT NULL
  GROUP BY cluster, broker
) AS p
