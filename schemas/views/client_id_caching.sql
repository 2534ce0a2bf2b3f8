-- What KIP-1313's caching of client ids would save: bytes of client ids that brokers have already, per client.
SELECT cluster, client_id, CAST(sum(client_id_redundant_bytes) AS BIGINT) AS bytes_sent_again,
       CAST(sum(instance_id_bytes) AS BIGINT) AS bytes_of_instance_ids
FROM {connections} WHERE role = 'client'
GROUP BY ALL ORDER BY bytes_sent_again DESC
