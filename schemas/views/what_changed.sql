-- What the newest run that read requests of a cluster brought that an operator should know, a row for each alarm of `watch`: for an alert of your own.
-- New is what was logged after the run before had read the logs of all brokers of the cluster; after the first run nothing is.
-- Who breaks has a row for each release: choose one. Clients without an owner are missing: only `watch --owners` knows owners.
SELECT c.kind, c.cluster, c.broker, c.principal, c.client_id, c.topic, c.release, c.first_seen, k.known_until, c.what
FROM {changes} AS c
JOIN (SELECT cluster, min(read_before) AS known_until FROM {newest_reads} GROUP BY cluster) AS k ON k.cluster = c.cluster
WHERE c.kind <> 'unowned' AND k.known_until < c.news_until AND (c.news_from IS NULL OR c.news_from <= k.known_until)
