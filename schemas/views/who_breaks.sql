-- Who breaks at which release: each client, API and version, with the releases that refuse it and why.
SELECT cluster, principal, client_id, client_software_name, client_software_version, api_name, api_version,
       requests, host_list, last_seen, refused_by
FROM {upgrade_impact} WHERE cardinality(refused_by) > 0
ORDER BY requests DESC
