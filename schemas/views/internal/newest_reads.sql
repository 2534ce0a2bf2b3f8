-- What the newest run that read logs of a cluster read of each log file, and until when the run before had read it.
-- read_from and read_until are null where the newest one read none of it, read_before where the one before did, of those that
-- read requests. One warehouse may hold several clusters, each with runs of its own.
WITH runs_of_clusters AS (
    -- A run that builds everything anew makes all sums its own; retention leaves sums, but no requests.
    SELECT cluster, run, true AS has_requests FROM {client_activity_parts}
    UNION
    SELECT cluster, run, true FROM {requests}
    UNION
    SELECT cluster, run, false FROM {failed_requests}
    UNION
    -- A run that read no request of a cluster brought nothing new of it.
    SELECT f.cluster, r.run, false FROM {ingested_files} AS f JOIN {runs} AS r ON f.ingested_at BETWEEN r.began AND r.ended
),
newest AS (SELECT cluster, max(run) AS run FROM runs_of_clusters GROUP BY cluster),
compared AS (
    SELECT n.cluster, n.run, max(CASE WHEN b.has_requests AND b.run < n.run THEN b.run END) AS run_before
    FROM newest AS n JOIN runs_of_clusters AS b ON b.cluster = n.cluster
    GROUP BY n.cluster, n.run
)
SELECT r.cluster, r.broker, r.file_id, c.run, min(CASE WHEN r.run = c.run THEN r.logged_at END) AS read_from,
       max(CASE WHEN r.run = c.run THEN r.logged_at END) AS read_until,
       max(CASE WHEN r.run = c.run_before THEN r.logged_at END) AS read_before
FROM compared AS c
JOIN {requests} AS r ON r.cluster = c.cluster AND (r.run = c.run OR r.run = c.run_before)
GROUP BY r.cluster, r.broker, r.file_id, c.run
