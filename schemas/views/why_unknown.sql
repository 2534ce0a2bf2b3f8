-- Why clients are unknown: what kept the broker from knowing a client's software name, and which library it probably is, if its connections agree.
SELECT cluster, client_id, principal, remote_host, reason_unknown, invalid_software_texts, count(*) AS connections,
       CASE WHEN count(DISTINCT probable_software_name) = 1 THEN max(probable_software_name) END AS probable_software_name,
       CASE WHEN count(DISTINCT probable_software_name || ' ' || probable_versions_from || ' ' || probable_versions_to) = 1
            THEN max(probable_versions_from || ' to ' || probable_versions_to) END AS probable_versions
FROM {connections} WHERE client_software_name = 'unknown' AND role = 'client'
GROUP BY ALL ORDER BY connections DESC
