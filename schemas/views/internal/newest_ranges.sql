-- The ranges of versions in each broker's newest ApiVersions answer per client listener.
-- All ranges of one answer have its time. Of two answers in the same millisecond, the higher range counts.
SELECT cluster, broker, listener, api_key, newest, highest.min_version AS min_version, highest.max_version AS max_version
FROM (
    SELECT cluster, broker, listener, api_key, newest,
           max(named_struct('max_version', max_version, 'min_version', min_version)) AS highest
    FROM (
        SELECT *, max(last_seen) OVER (PARTITION BY cluster, broker, listener) AS newest
        FROM {broker_api_versions}
        WHERE listener IS NULL OR listener NOT IN {controller_listeners}
    ) AS answers
    WHERE last_seen = newest GROUP BY ALL
) AS newest_answers
