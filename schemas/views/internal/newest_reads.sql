-- Until when the newest run that read requests, and the one before it, have read the log of each broker; null where a run read none.
SELECT cluster, broker, max(CASE WHEN r.run = n.run THEN logged_at END) AS read_until,
       max(CASE WHEN r.run < n.run THEN logged_at END) AS read_before
FROM (SELECT max(run) AS run FROM {runs} WHERE requests > 0) AS n
JOIN {requests} AS r ON r.run <= n.run
WHERE r.run IN (SELECT run FROM {runs} WHERE requests > 0 ORDER BY run DESC LIMIT 2)
GROUP BY cluster, broker
