-- Hosts from which requests came that only brokers and controllers send.
SELECT c.cluster, c.remote_host AS host, min(c.first_broker_request_at) AS first_seen, max(c.last_broker_request_at) AS last_seen,
       sum(c.broker_requests) AS requests, max(f.ingested_at) AS ingested_at
FROM {connections} AS c JOIN {ingested_files} AS f ON f.file_id = c.file_id
WHERE c.broker_requests > 0 AND c.remote_host IS NOT NULL
GROUP BY c.cluster, c.remote_host
