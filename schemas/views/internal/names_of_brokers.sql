-- The principals and client ids (cluster, principal, client_id) under which brokers or controllers alone connect; none that a client shares.
SELECT cluster, principal, client_id FROM {connections} AS c
GROUP BY cluster, principal, client_id HAVING NOT bool_or(role = 'client')
