-- Per group, generation and member what its requests say: when it joined, with which reason, when it was seen, when it left. group_rebalances is made of it, also after retention has deleted the requests.
SELECT cluster, broker, group_id, protocol, member_id, group_instance_id, generation, left_at,
       min(joined) AS joined, min(leaving) AS leaving, min(id_given_at) AS id_given_at, min(listed_at) AS listed_at,
       min(synced_at) AS synced_at, min(rebalance_seen_at) AS rebalance_seen_at,
       min(first_stated) AS first_stated, max(last_stated) AS last_stated,
       max(heartbeat_interval_ms) AS heartbeat_interval_ms,
       min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at,
       max(client) AS client, max(ingested_at) AS ingested_at
FROM {group_member_parts}
GROUP BY cluster, broker, group_id, protocol, member_id, group_instance_id, generation, left_at
