-- Until when the newest run that read requests of a cluster, and the one before it, have read the log of each of its brokers.
-- It is null where a run read none. One warehouse may hold several clusters, each with runs of its own.
WITH runs_of_clusters AS (
    SELECT cluster, run, row_number() OVER (PARTITION BY cluster ORDER BY run DESC) AS place
    FROM (SELECT DISTINCT cluster, run FROM {client_activity_parts}) AS p
)
SELECT r.cluster, r.broker, max(CASE WHEN n.place = 1 THEN r.logged_at END) AS read_until,
       max(CASE WHEN n.place = 2 THEN r.logged_at END) AS read_before
FROM runs_of_clusters AS n
JOIN {requests} AS r ON r.cluster = n.cluster AND r.run = n.run
WHERE n.place <= 2
GROUP BY r.cluster, r.broker
