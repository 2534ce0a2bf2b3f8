-- Who connects: software, principal and client id, with connections, hosts and the last request.
SELECT cluster, client_software_name, client_software_version, principal, client_id,
       count(*) AS connections, count(DISTINCT remote_host) AS hosts, max(last_request_at) AS last_seen
FROM {connections} WHERE role = 'client'
GROUP BY ALL ORDER BY connections DESC
