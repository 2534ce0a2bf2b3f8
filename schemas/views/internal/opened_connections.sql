-- Connections of clients, with the minute in which they were opened, and whether they are short: see connection_storms.
SELECT cluster, broker, listener, principal, client_id, client_software_name, client_software_version, remote_host,
       connection_id, opened_at, opened_seq, last_request_at, start, log_generation,
       CAST(floor(unix_micros(opened_at) / 6e7) AS BIGINT) AS minute,
       start <> 'before_log'
       AND unix_micros(last_request_at) - unix_micros(opened_at) <= {short_seconds} * 1000000 AS is_short
FROM {connections}
WHERE role = 'client'
