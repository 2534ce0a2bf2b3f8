-- Per connection of a client without a software name: the library that it probably uses, by how it behaves on this connection or on others of its client.
-- A connection that shows too little by itself has the library of its client's others of that day, if they agree (see
-- probable_clients) and if its own requests fit. What follows from others is no evidence for further connections.
WITH unnamed AS (
    SELECT c.cluster, c.broker, c.connection_id, c.opened_at, c.opened_seq, c.last_request_at, c.principal, c.client_id,
           c.client_software_name, c.client_software_version, c.remote_host, c.reason_unknown, c.invalid_software_texts,
           c.probable_software_name, c.probable_versions_from, c.probable_versions_to, c.probable_evidence, c.candidate_software,
           get(filter(c.candidate_software, one -> one.software_name = p.probable_software_name), 0) AS of_client
    FROM {connections} AS c
    LEFT JOIN {probable_clients} AS p
      ON c.cluster = p.cluster AND c.client_id = p.client_id AND c.principal IS NOT DISTINCT FROM p.principal
     AND c.remote_host IS NOT DISTINCT FROM p.remote_host
     AND timestamp_micros(CAST(floor(unix_micros(c.opened_at) / 864e8) AS BIGINT) * 86400000000) = p.day
     AND c.probable_software_name IS NULL
    WHERE c.role = 'client' AND c.client_software_name = 'unknown'
)
SELECT cluster, broker, connection_id, opened_at, opened_seq, last_request_at, principal, client_id, client_software_name,
       client_software_version, remote_host, reason_unknown, invalid_software_texts,
       coalesce(probable_software_name, of_client.software_name) AS probable_software_name,
       coalesce(probable_versions_from, of_client.versions_from) AS probable_versions_from,
       coalesce(probable_versions_to, of_client.versions_to) AS probable_versions_to,
       CASE WHEN probable_software_name IS NOT NULL THEN 'connection' WHEN of_client IS NOT NULL THEN 'client' END
           AS probable_basis,
       CASE WHEN probable_software_name IS NOT NULL THEN probable_evidence
            WHEN of_client IS NOT NULL THEN 'other connections of the client; its own requests fit' END AS probable_evidence,
       candidate_software
FROM unnamed
