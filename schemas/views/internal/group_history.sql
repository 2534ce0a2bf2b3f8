-- What members of groups did, in the order of time: a row per member and generation, with what the member did before and next.
--
-- A group's generations rise as long as it exists. If it is deleted, or if its offsets expire, a group of the same name begins
-- again with generation 1; its life is then one more. Members are compared by identity: a static member that restarts has
-- another member id, but the same instance id (KIP-345).
--
-- Beside columns of group_members, those of all requests about the member and generation together:
--   is_shown                                           whether an answer shows the member in it, not its heartbeats alone
--   generation_before, joined_before, notified_before  of the member's generation before; null if it left since
--   next_generation, or left_at and leaving            what it did next: it joined another generation, or left; else null
--   who                                                the member and its client; texts are empty where not known
WITH identified AS (
    -- All rows of a member get its static id, and the time when it was given its member id.
    SELECT *,
           coalesce(group_instance_id, CASE WHEN member_id <> '' THEN max(group_instance_id) OVER of_member END) AS instance_id,
           CASE WHEN member_id <> '' THEN min(id_given_at) OVER of_member END AS given_at
    FROM {group_members}
    WINDOW of_member AS (PARTITION BY cluster, group_id, protocol, member_id)
),
named AS (
    -- A static id and a member id may be equal texts.
    SELECT *, coalesce('s' || instance_id, 'd' || member_id) AS identity
    FROM identified
    WHERE left_at IS NOT NULL OR generation >= 0
),
merged AS (
    -- The rows of several brokers, and of several member ids of a static member, in one generation; a row for each time that it left.
    SELECT cluster, group_id, protocol, identity, left_at,
           CASE WHEN left_at IS NULL THEN CAST(m.generation AS BIGINT) END AS generation,
           min(first_seen_at) AS first_seen_at,
           max(last_seen_at) AS last_seen_at,
           min(named_struct('at', first_seen_at, 'broker', broker)).broker AS first_broker,
           max(named_struct('at', last_seen_at, 'broker', broker)).broker AS last_broker,
           max(named_struct('at', first_seen_at, 'member_id', member_id)).member_id AS member_id,
           max(instance_id) AS group_instance_id,
           min(joined) AS joined,
           nullif(min(joined).leader, '') AS leader,
           min(leaving) AS leaving,
           min(given_at) AS id_given_at,
           min(listed_at) AS listed_at,
           min(synced_at) AS synced_at,
           min(rebalance_seen_at) AS rebalance_seen_at,
           min(first_stated) AS first_stated,
           max(last_stated) AS last_stated,
           max(heartbeat_interval_ms) AS heartbeat_interval_ms,
           max(client) AS client
    FROM named AS m
    GROUP BY cluster, group_id, protocol, identity, m.generation, left_at
),
preceded AS (
    -- The generation and the leader of the group's row before that has one.
    SELECT cluster, group_id, protocol, identity, generation, left_at, first_seen_at, joined IS NOT NULL AS joins, joined.is_new,
           group_instance_id IS NOT NULL AS is_static, leader,
           lag(generation) OVER (
               PARTITION BY cluster, group_id, protocol, generation IS NULL ORDER BY first_seen_at, generation, identity
           ) AS last_generation,
           lag(leader) OVER (
               PARTITION BY cluster, group_id, protocol, leader IS NULL ORDER BY first_seen_at, generation, identity
           ) AS last_leader
    FROM merged
),
marked AS (
    -- A life begins where a member joins a generation below the one before, or with another leader the same. Several members of a
    -- new group of KIP-848 may join before one of them gets its first epoch, which is 2.
    SELECT *,
           joins AND CASE
               WHEN protocol <> 'classic' THEN generation < last_generation AND generation <= 2 AND is_new
               WHEN generation = last_generation THEN leader <> last_leader AND NOT is_static
               ELSE generation < last_generation
           END AS begins
    FROM preceded
),
lives AS (
    SELECT *,
           count(CASE WHEN begins THEN 1 END) OVER (
               PARTITION BY cluster, group_id, protocol ORDER BY first_seen_at, coalesce(generation, -1), identity
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           ) AS life
    FROM marked
),
living AS (
    -- Few groups begin again, so that few rows of later lives are looked up.
    SELECT m.*, coalesce(l.life, 0) AS life
    FROM merged AS m
    LEFT JOIN (SELECT * FROM lives WHERE life > 0) AS l
      ON m.cluster = l.cluster AND m.group_id = l.group_id AND m.protocol = l.protocol AND m.identity = l.identity
     AND m.first_seen_at = l.first_seen_at AND m.generation IS NOT DISTINCT FROM l.generation
     AND m.left_at IS NOT DISTINCT FROM l.left_at
),
linked AS (
    SELECT cluster, group_id, protocol, life, identity, generation, first_seen_at, last_seen_at, first_broker, last_broker,
           member_id, group_instance_id, joined, id_given_at, synced_at, rebalance_seen_at, first_stated, last_stated,
           heartbeat_interval_ms,
           joined IS NOT NULL OR listed_at IS NOT NULL OR synced_at IS NOT NULL AS is_shown,
           lag(generation) OVER of_member AS generation_before,
           lag(joined) OVER of_member AS joined_before,
           lag(rebalance_seen_at) OVER of_member AS notified_before,
           lead(generation) OVER of_member AS next_generation,
           lead(left_at) OVER of_member AS left_at,
           lead(leaving) OVER of_member AS leaving,
           named_struct(
               'member_id', coalesce(member_id, ''),
               'group_instance_id', coalesce(group_instance_id, ''),
               'client_id', coalesce(client.client_id, ''),
               'principal', coalesce(client.principal, ''),
               'remote_host', coalesce(client.remote_host, ''),
               'client_software_name', coalesce(client.client_software_name, ''),
               'client_software_version', coalesce(client.client_software_version, '')
           ) AS who
    FROM living
    WINDOW of_member AS (PARTITION BY cluster, group_id, protocol, life, identity ORDER BY first_seen_at, generation NULLS FIRST)
)
SELECT * FROM linked WHERE generation IS NOT NULL
