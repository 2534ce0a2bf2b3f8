-- Each broker's log at its end: until when it has requests, and covered_until, null where it does not hold every request there.
-- At DEBUG, brokers and clients send something in each hour that INFO does not log; an hour of what INFO logs is a fall to INFO.
-- shown_after are the microseconds after whole_until, the last time at which all was logged, until that shows.
SELECT f.cluster, f.broker, f.until,
       CASE WHEN unix_micros(f.until) - unix_micros(l.covered_until) <= 3600000000 THEN l.covered_until END AS covered_until,
       coalesce(array_max(transform(l.whole_periods, one -> one.whole_until)), l.covered_until) AS whole_until,
       CASE WHEN l.covered_until IS NULL THEN 600000001 ELSE 3600000001 END AS shown_after
FROM (SELECT cluster, broker, max(last_logged_at) AS until FROM {ingested_files} GROUP BY cluster, broker) AS f
LEFT JOIN {log_coverage} AS l ON l.cluster = f.cluster AND l.broker = f.broker
WHERE f.until IS NOT NULL
