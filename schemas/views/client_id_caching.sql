-- What KIP-1313 would save and cost, per client: bytes_sent_again, of client ids that brokers have already, would be saved, and bytes_of_instance_ids would be added.
SELECT cluster, client_id, CAST(sum(client_id_redundant_bytes) AS BIGINT) AS bytes_sent_again,
       CAST(sum(instance_id_bytes) AS BIGINT) AS bytes_of_instance_ids
FROM {connections} WHERE role = 'client'
GROUP BY ALL ORDER BY bytes_sent_again DESC
