-- Per group, generation and member what its requests say: when it joined, with which reason, when it was seen, when it left. group_rebalances is made of it, also after retention has deleted the requests.
WITH members AS (
    SELECT cluster, broker, group_id, protocol, member_id, group_instance_id, generation, left_at,
           min(joined) AS joined, min(leaving) AS leaving, min(id_given_at) AS id_given_at, min(listed_at) AS listed_at,
           min(synced_at) AS synced_at, min(rebalance_seen_at) AS rebalance_seen_at,
           min(first_stated) AS first_stated, max(last_stated) AS last_stated,
           max(heartbeat_interval_ms) AS heartbeat_interval_ms,
           min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at,
           max(client) AS client, max(client_connection) AS client_connection, max(ingested_at) AS ingested_at
    FROM {group_member_parts}
    GROUP BY cluster, broker, group_id, protocol, member_id, group_instance_id, generation, left_at
),
-- Requests that state no client id are of the one that their connection has stated (KIP-1313).
with_ids AS (
    SELECT m.*, array_distinct(transform(
               filter(s.stated, c -> unix_micros(m.client_connection.logged_at) BETWEEN c.opened AND c.last_request),
               c -> c.client_id
           )) AS ids
    FROM members AS m
    LEFT JOIN {stated_client_ids} AS s
      ON s.cluster = m.cluster AND s.broker = m.broker AND s.connection_id = m.client_connection.connection_id
         AND m.client_connection.logged_at = m.client.logged_at
)
SELECT m.cluster, m.broker, m.group_id, m.protocol, m.member_id, m.group_instance_id, m.generation, m.left_at,
       m.joined, m.leaving, m.id_given_at, m.listed_at, m.synced_at, m.rebalance_seen_at, m.first_stated, m.last_stated,
       m.heartbeat_interval_ms, m.first_seen_at, m.last_seen_at,
       CASE WHEN m.ids IS NULL OR size(m.ids) <> 1 OR get(m.ids, 0) = '' THEN m.client
            ELSE named_struct(
                'logged_at', m.client.logged_at, 'client_id', get(m.ids, 0), 'principal', m.client.principal,
                'remote_host', m.client.remote_host, 'client_software_name', m.client.client_software_name,
                'client_software_version', m.client.client_software_version
            ) END AS client,
       m.ingested_at
FROM with_ids AS m
