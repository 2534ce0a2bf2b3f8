-- What brokers refuse already: requests with a version that a broker does not take, as only its server.log shows, with who may have sent them.
WITH clients AS (
    SELECT cluster, remote_host, slice(array_sort(collect_set(client_id)), 1, 20) AS client_ids
    FROM {connections} WHERE role = 'client' AND remote_host IS NOT NULL
    GROUP BY cluster, remote_host
),
refused AS (
    SELECT * FROM {refusals}
    -- Not what only another listener serves.
    WHERE rule IN ('request_version_refused', 'advertised_version_refused', 'version_refused_without_offer')
),
-- Those of which the connection is known, by client.
by_client AS (
    SELECT cluster, broker, remote_host, api_key, api_name, api_version, client, count(*) AS requests
    FROM refused
    WHERE is_client_known
    GROUP BY cluster, broker, remote_host, api_key, api_name, api_version, client
),
named AS (
    SELECT cluster, broker, remote_host, api_key, api_name, api_version, sum(requests) AS requests,
           slice(transform(array_sort(collect_list(named_struct(
               'most_first', -requests, 'principal', coalesce(client.principal, ''), 'client_id', coalesce(client.client_id, ''),
               'software', concat(client.client_software_name, ' ', client.client_software_version),
               'entry', named_struct(
                   'principal', client.principal, 'client_id', client.client_id, 'client_software_name', client.client_software_name,
                   'client_software_version', client.client_software_version, 'requests', requests
               )
           ))), one -> one.entry), 1, 20) AS clients
    FROM by_client
    GROUP BY cluster, broker, remote_host, api_key, api_name, api_version
)
SELECT r.cluster, r.broker, r.remote_host, r.api_key, r.api_name, r.api_version, r.requests, r.connections, r.first_at, r.last_at,
       coalesce(c.client_ids, array()) AS client_ids,
       coalesce(n.requests, 0) AS named_requests, coalesce(n.clients, array()) AS named_clients
FROM (
    SELECT cluster, broker, remote_host, api_key, api_name, api_version, count(*) AS requests,
           count(DISTINCT connection_id) AS connections, min(logged_at) AS first_at, max(logged_at) AS last_at
    FROM refused
    GROUP BY cluster, broker, remote_host, api_key, api_name, api_version
) AS r
LEFT JOIN clients AS c ON c.cluster = r.cluster AND c.remote_host = r.remote_host
LEFT JOIN named AS n
  ON n.cluster = r.cluster AND n.broker = r.broker AND n.remote_host IS NOT DISTINCT FROM r.remote_host
     AND n.api_key IS NOT DISTINCT FROM r.api_key AND n.api_name IS NOT DISTINCT FROM r.api_name
     AND n.api_version IS NOT DISTINCT FROM r.api_version
