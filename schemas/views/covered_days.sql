-- For how many days the logs of each cluster hold every request, and at least 1; of logs that never do, the time that they span.
WITH of_brokers AS (
    SELECT f.cluster, f.broker, max(unix_micros(f.last_logged_at)) - min(unix_micros(f.first_logged_at)) AS spanned,
           max(list_sum(transform(l.whole_periods, period -> unix_micros(period.whole_until) - unix_micros(period.whole_from)))) AS whole
    FROM {ingested_files} AS f
    LEFT JOIN {log_coverage} AS l ON l.cluster = f.cluster AND l.broker = f.broker
    GROUP BY f.cluster, f.broker
)
SELECT cluster, greatest(max(coalesce(nullif(whole, 0), spanned)) / 8.64e10, 1e0) AS days
FROM of_brokers
GROUP BY cluster
