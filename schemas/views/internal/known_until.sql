-- Until when the run before the newest one had read the logs of all brokers of a cluster that it read; clusters with one run are missing.
SELECT cluster, min(read_before) AS known_until, max(run) AS run
FROM (SELECT cluster, broker, max(run) AS run, max(read_before) AS read_before FROM {newest_reads} GROUP BY cluster, broker) AS r
WHERE read_before IS NOT NULL
GROUP BY cluster
