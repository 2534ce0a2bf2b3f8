-- Times of at least an hour of which a file of another broker of the cluster has requests, and no file of this one.
-- Amazon MSK delivers files of an hour, which is in their paths. logged_until is the end of the cluster's logs.
WITH files AS (
    SELECT *, try_cast(concat(regexp_extract(path, '/([0-9-]+)-[0-9]+/Broker-[0-9]+_', 1), ' ',
                              regexp_extract(path, '-([0-9]+)/Broker-[0-9]+_', 1), ':00:00') AS TIMESTAMP) AS hour
    FROM {ingested_files}
),
spans AS (
    SELECT cluster, broker, coalesce(least(hour, first_logged_at), hour, first_logged_at) AS began,
           coalesce(greatest(hour + INTERVAL '1' HOUR, last_logged_at), hour + INTERVAL '1' HOUR, last_logged_at) AS ended
    FROM files WHERE hour IS NOT NULL OR first_logged_at IS NOT NULL
),
of_clusters AS (SELECT cluster, min(began) AS began, max(ended) AS ended FROM spans GROUP BY cluster),
brokers AS (
    SELECT s.cluster, s.broker, c.began, c.ended FROM (SELECT DISTINCT cluster, broker FROM spans) AS s JOIN of_clusters AS c ON c.cluster = s.cluster
),
with_ends AS (
    SELECT cluster, broker, began, ended FROM spans
    UNION ALL SELECT cluster, broker, began, began FROM brokers
    UNION ALL SELECT cluster, broker, ended, ended FROM brokers
),
gaps AS (
    SELECT cluster, broker, began AS until, max(ended) OVER (
        PARTITION BY cluster, broker ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS since
    FROM with_ends
)
SELECT g.cluster, g.broker, g.since, g.until, max(c.ended) AS logged_until
FROM gaps AS g
JOIN of_clusters AS c ON c.cluster = g.cluster
JOIN spans AS o ON o.cluster = g.cluster AND o.broker <> g.broker
WHERE unix_micros(least(o.ended, g.until)) - unix_micros(greatest(o.began, g.since)) >= 3600000000
GROUP BY g.cluster, g.broker, g.since, g.until
