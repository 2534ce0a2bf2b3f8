-- Per connection id: the client ids that its connections stated which leave theirs out of later requests (KIP-1313).
-- Counts of such requests know the connection id and the day or the bucket. A connection id may be used again, as after a broker's
-- restart: if two connections with different client ids had it in that time, the counts are nobody's in particular.
SELECT cluster, broker, connection_id,
       collect_list(named_struct(
           'opened', unix_micros(opened_at), 'last_request', unix_micros(last_request_at), 'client_id', coalesce(client_id, '')
       )) AS stated
FROM {connections}
-- Null for brokers.
WHERE client_id_verdict IS DISTINCT FROM 'unchanged'
GROUP BY cluster, broker, connection_id
