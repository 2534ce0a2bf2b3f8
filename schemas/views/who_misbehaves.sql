-- Who misbehaves: violations and whom each blames, the gravest and most frequent first, with an expression that finds an example in the log.
SELECT severity, blames, rule, kip, cluster, client_id, principal, client_software_name, client_software_version, remote_host,
       broker, connection_id, group_id, occurrences, rejected, message, last_at, example.grep AS grep
FROM {violations}
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 WHEN 'info' THEN 2 END, occurrences DESC
