-- Per client (principal, client id, software name and version): where it connects from, what it uses, and when.
-- A null principal or client id counts as a value.
WITH clients AS (
    SELECT cluster, principal, client_id, client_software_name, client_software_version,
           count(*) AS connections, sum(requests) AS requests, min(opened_at) AS first_seen, max(last_request_at) AS last_seen,
           collect_set(remote_host) AS hosts, collect_set(broker) AS brokers, collect_set(listener) AS listeners,
           collect_set(security_protocol) AS security_protocols, count(DISTINCT client_instance_id) AS instance_count
    FROM {connections} WHERE role = 'client' GROUP BY ALL
),
-- Each client's APIs, with the lowest and highest version that it used.
used AS (
    SELECT cluster, principal, client_id, client_software_name, client_software_version, api_key, api_name,
           min(api_version) AS min_version, max(api_version) AS max_version, CAST(sum(requests) AS BIGINT) AS requests
    FROM {api_usage} WHERE role = 'client' GROUP BY ALL
),
apis AS (
    SELECT cluster, principal, client_id, client_software_name, client_software_version,
           slice(array_sort(collect_list(named_struct(
               'api_key', api_key, 'api_name', api_name, 'min_version', min_version, 'max_version', max_version, 'requests', requests
           ))), 1, 200) AS apis
    FROM used GROUP BY ALL
),
-- The groups in which each client's connections take part.
groups AS (
    SELECT cluster, principal, client_id, client_software_name, client_software_version, collect_set(group_id) AS group_ids
    FROM {connection_groups} WHERE role = 'client' AND takes_part GROUP BY ALL
)
SELECT c.cluster, c.principal, c.client_id, c.client_software_name, c.client_software_version,
       c.connections, c.requests, c.first_seen, c.last_seen,
       size(c.hosts) AS host_count, slice(array_sort(c.hosts), 1, 20) AS hosts, slice(array_sort(c.brokers), 1, 20) AS brokers,
       slice(array_sort(c.listeners), 1, 20) AS listeners, slice(array_sort(c.security_protocols), 1, 20) AS security_protocols,
       c.instance_count, a.apis, coalesce(size(g.group_ids), 0) AS group_count,
       CASE WHEN g.group_ids IS NULL THEN array() ELSE slice(array_sort(g.group_ids), 1, 20) END AS groups
FROM clients AS c
LEFT JOIN apis AS a
  ON c.cluster = a.cluster AND c.principal IS NOT DISTINCT FROM a.principal AND c.client_id IS NOT DISTINCT FROM a.client_id
 AND c.client_software_name = a.client_software_name AND c.client_software_version = a.client_software_version
LEFT JOIN groups AS g
  ON c.cluster = g.cluster AND c.principal IS NOT DISTINCT FROM g.principal AND c.client_id IS NOT DISTINCT FROM g.client_id
 AND c.client_software_name = g.client_software_name AND c.client_software_version = g.client_software_version
