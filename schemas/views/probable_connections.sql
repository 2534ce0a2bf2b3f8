-- Per connection of a client without a software name: the library that it probably uses, by how it behaves on this connection or on others of its client.
-- A connection has a library only if its client's connections of that day agree on it (see probable_clients); one that shows
-- too little by itself, if its own requests fit, and releases of those that show it: else another program has the client's id. What follows from others is no evidence for further connections.
WITH unnamed AS (
    SELECT c.cluster, c.broker, c.connection_id, c.opened_at, c.opened_seq, c.last_request_at, c.principal, c.client_id,
           c.client_software_name, c.client_software_version, c.remote_host, c.reason_unknown, c.invalid_software_texts,
           CASE WHEN c.probable_software_name = p.probable_software_name THEN c.probable_software_name END AS probable_software_name,
           c.probable_versions_from, c.probable_versions_to, c.probable_evidence, c.candidate_software,
           -- Not if it states a name, even one that is refused.
           CASE WHEN c.software_valid_by_broker IS NULL
                THEN get(filter(c.candidate_software, one -> one.software_name = p.probable_software_name
                    AND transform(split(replace(one.versions_from, '.', ' '), ' '), n -> try_cast(n AS INT)) <= p.last_release
                    AND transform(split(replace(one.versions_to, '.', ' '), ' '), n -> try_cast(n AS INT)) >= p.first_release), 0) END AS of_client
    FROM {connections} AS c
    LEFT JOIN {probable_clients} AS p
      ON c.cluster = p.cluster AND c.client_id = p.client_id AND c.principal IS NOT DISTINCT FROM p.principal
     AND c.remote_host IS NOT DISTINCT FROM p.remote_host
     AND timestamp_micros(CAST(floor(unix_micros(c.opened_at) / 864e8) AS BIGINT) * 86400000000) = p.day
    WHERE c.role = 'client' AND c.client_software_name = 'unknown'
)
SELECT cluster, broker, connection_id, opened_at, opened_seq, last_request_at, principal, client_id, client_software_name,
       client_software_version, remote_host, reason_unknown, invalid_software_texts,
       coalesce(probable_software_name, of_client.software_name) AS probable_software_name,
       CASE WHEN probable_software_name IS NOT NULL THEN probable_versions_from ELSE of_client.versions_from END
           AS probable_versions_from,
       CASE WHEN probable_software_name IS NOT NULL THEN probable_versions_to ELSE of_client.versions_to END
           AS probable_versions_to,
       CASE WHEN probable_software_name IS NOT NULL THEN 'connection' WHEN of_client IS NOT NULL THEN 'client' END
           AS probable_basis,
       CASE WHEN probable_software_name IS NOT NULL THEN probable_evidence
            WHEN of_client IS NOT NULL THEN 'other connections of the client; its own requests fit' END AS probable_evidence,
       candidate_software
FROM unnamed
