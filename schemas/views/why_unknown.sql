-- Why clients are unknown: what kept the broker from knowing a client's software name.
SELECT cluster, client_id, principal, remote_host, reason_unknown, invalid_software_texts, count(*) AS connections
FROM {connections} WHERE client_software_name = 'unknown' AND role = 'client'
GROUP BY ALL ORDER BY connections DESC
