-- What brokers refuse already: requests with a version that a broker does not take, as only its server.log shows, with who may have sent them.
WITH clients AS (
    SELECT cluster, remote_host, slice(array_sort(collect_set(client_id)), 1, 20) AS client_ids
    FROM {connections} WHERE role = 'client' AND remote_host IS NOT NULL
    GROUP BY cluster, remote_host
)
SELECT r.cluster, r.broker, r.remote_host, r.api_key, r.api_name, r.api_version, r.requests, r.connections, r.first_at, r.last_at,
       coalesce(c.client_ids, array()) AS client_ids
FROM (
    SELECT cluster, broker, remote_host, api_key, api_name, api_version, count(*) AS requests,
           count(DISTINCT connection_id) AS connections, min(logged_at) AS first_at, max(logged_at) AS last_at
    FROM {refusals}
    -- Not what only another listener serves.
    WHERE rule IN ('request_version_refused', 'advertised_version_refused', 'version_refused_without_offer')
    GROUP BY cluster, broker, remote_host, api_key, api_name, api_version
) AS r
LEFT JOIN clients AS c ON c.cluster = r.cluster AND c.remote_host = r.remote_host
