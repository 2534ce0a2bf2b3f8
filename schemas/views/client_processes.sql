-- Which process is it: each client instance across its connections, brokers and time.
SELECT cluster, instance_id, id_kinds, client_ids, software, hosts, two_hosts_at_once, brokers, connections,
       first_seen, last_seen
FROM {client_instances} ORDER BY connections DESC
