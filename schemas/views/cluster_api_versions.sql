-- Per cluster and API: the versions that all its brokers take, by each broker's newest ApiVersions answer per client listener, and the features that they allow (KIP-35).
-- By KIP-35 a client may use a feature if, for each request that it needs, all brokers of interest accept a common version. These
-- are the brokers that answered ApiVersions on a client listener, each with its newest answer. During a rolling upgrade the old
-- brokers limit the range, and same_everywhere is false.
WITH logged AS (
    SELECT cluster, count(DISTINCT broker) AS brokers FROM {ingested_files} WHERE requests > 0 GROUP BY cluster
),
-- Brokers that answered, and those without an answer in their log.
clusters AS (
    SELECT c.cluster, c.brokers, c.answering, c.as_of, greatest(coalesce(l.brokers, c.brokers) - c.brokers, 0) AS brokers_silent
    FROM (
        SELECT cluster, count(DISTINCT broker) AS brokers, max(newest) AS as_of,
               count(DISTINCT named_struct('broker', broker, 'listener', coalesce(listener, ''))) AS answering
        FROM {newest_ranges} AS r GROUP BY cluster
    ) AS c
    LEFT JOIN logged AS l ON c.cluster = l.cluster
),
by_api AS (
    SELECT cluster, api_key, count(*) AS answers, count(DISTINCT broker) AS brokers_with_api,
           max(min_version) AS low, min(max_version) AS high, min(min_version) AS lowest_min, max(max_version) AS highest_max
    FROM {newest_ranges} AS r GROUP BY cluster, api_key
),
-- What one of the brokers advertises or a feature needs.
apis AS (
    SELECT cluster, api_key FROM by_api
    UNION
    SELECT c.cluster, f.api_key FROM clusters AS c CROSS JOIN {feature_needs} AS f
),
-- The range that all answering brokers share; null if they share none.
common AS (
    SELECT a.cluster, a.api_key, c.brokers, coalesce(b.brokers_with_api, 0) AS brokers_with_api, c.brokers_silent, c.as_of,
           b.lowest_min, b.highest_max,
           CASE WHEN b.answers = c.answering AND b.low <= b.high THEN b.low END AS min_version,
           CASE WHEN b.answers = c.answering AND b.low <= b.high THEN b.high END AS max_version,
           b.answers IS NULL OR (b.answers = c.answering AND b.low = b.lowest_min AND b.high = b.highest_max) AS same_everywhere
    FROM apis AS a
    JOIN clusters AS c ON a.cluster = c.cluster
    LEFT JOIN by_api AS b ON a.cluster = b.cluster AND a.api_key = b.api_key
),
needs AS (
    SELECT c.cluster, f.*,
           c.min_version IS NOT NULL AND greatest(c.min_version, f.min_version) <= least(c.max_version, f.max_version) AS met
    FROM common AS c JOIN {feature_needs} AS f ON c.api_key = f.api_key
),
usable_features AS (
    SELECT *, bool_and(met) OVER (PARTITION BY cluster, feature) AS usable FROM needs
),
features AS (
    SELECT cluster, api_key, array_sort(collect_list(named_struct(
               'feature', feature, 'kip', kip, 'min_version', min_version, 'max_version', max_version, 'met', met, 'usable', usable
           ))) AS features
    FROM usable_features GROUP BY cluster, api_key
)
SELECT c.cluster, c.api_key, n.api_name, c.min_version, c.max_version, c.lowest_min, c.highest_max, c.same_everywhere,
       c.brokers, c.brokers_with_api, c.brokers_silent, c.as_of, coalesce(f.features, array()) AS features
FROM common AS c
LEFT JOIN features AS f ON c.cluster = f.cluster AND c.api_key = f.api_key
LEFT JOIN {api_names} AS n ON c.api_key = n.api_key
