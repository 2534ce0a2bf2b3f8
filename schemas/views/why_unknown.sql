-- Why clients are unknown: what kept the broker from knowing a client's software name, and which library it probably is, if its connections agree; the versions are those of all its connections.
SELECT cluster, client_id, principal, remote_host, reason_unknown, invalid_software_texts, count(*) AS connections,
       CASE WHEN count(DISTINCT probable_software_name) = 1 THEN max(probable_software_name) END AS probable_software_name,
       CASE WHEN count(DISTINCT probable_software_name) = 1
            THEN min_by(probable_versions_from, first_numbers) || ' to ' || max_by(probable_versions_to, last_numbers) END AS probable_versions
FROM (SELECT *, lpad(split_part(probable_versions_from, '.', 1), 6, '0') || lpad(split_part(probable_versions_from, '.', 2), 6, '0')
             || lpad(split_part(probable_versions_from, '.', 3), 6, '0') || lpad(split_part(probable_versions_from, '.', 4), 6, '0') AS first_numbers,
             lpad(split_part(probable_versions_to, '.', 1), 6, '0') || lpad(split_part(probable_versions_to, '.', 2), 6, '0')
             || lpad(split_part(probable_versions_to, '.', 3), 6, '0') || lpad(split_part(probable_versions_to, '.', 4), 6, '0') AS last_numbers
      FROM {probable_connections}) AS c
GROUP BY cluster, client_id, principal, remote_host, reason_unknown, invalid_software_texts
ORDER BY connections DESC
