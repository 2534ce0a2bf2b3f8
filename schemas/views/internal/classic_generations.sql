-- Generations of classic groups: who is new in each, which of its requests may have started it, and who departed after it.
--
-- A trigger is a struct of the request that may have started a rebalance; the least one is the first. Its fields hold no null, as
-- engines order nulls in structs differently.
WITH members AS (
    SELECT m.*, g.first_at, g.broker, g.broker_at_end, g.members_shown, g.joins, g.joining_from, g.synced_at AS stable_at, g.last_join,
           g.earlier_generation, g.earlier_members, g.earlier_notified_at, g.earlier_broker, g.later_generation,
           coalesce(g.earlier_generation = m.generation - 1, false) AS follows,
           coalesce(m.generation_before = g.earlier_generation, false) AS was_in
    FROM {group_history} AS m
    JOIN {group_generations} AS g
      ON m.cluster = g.cluster AND m.group_id = g.group_id AND m.protocol = g.protocol AND m.life = g.life
     AND m.generation = g.generation
    WHERE m.protocol = 'classic'
),
compared AS (
    SELECT *, coalesce(bool_or(was_in AND is_shown) OVER of_generation, false) AS someone_stays
    FROM members
    WINDOW of_generation AS (PARTITION BY cluster, group_id, protocol, life, generation)
),
placed AS (
    SELECT *,
           -- A generation without members lies between this one and the last known one, of which nobody is here.
           coalesce(earlier_generation = generation - 2, false) AND NOT someone_stays AS was_empty,
           -- Logs before 1.0 show no answer to a JoinGroup, so that the SyncGroup is the first sign of its generation.
           CASE WHEN joins > 0 THEN joined.started_at ELSE synced_at END AS arrived_at,
           CASE
               WHEN left_at IS NOT NULL THEN 'member_left'
               WHEN next_generation = later_generation THEN NULL
               ELSE 'member_expired'
           END AS departure
    FROM compared
),
moves AS (
    SELECT *,
           CASE
               WHEN NOT is_shown THEN NULL
               WHEN NOT was_in AND (
                   generation = 1 OR follows AND earlier_members IS NOT NULL OR was_empty
                   -- The generation before may be unknown, but the log shows how this member got its id.
                   OR generation_before IS NULL AND (joined.is_new OR id_given_at IS NOT NULL)
               ) THEN 'member_joined'
               WHEN NOT was_in OR NOT follows OR joined IS NULL THEN NULL
               -- It joins again as another member started a rebalance: after an answer with REBALANCE_IN_PROGRESS, or it says so
               -- in its reason (KIP-800). A request may seem to arrive 0.1 s earlier than it did: its record is written some time
               -- after its answer.
               WHEN unix_micros(notified_before) <= unix_micros(joined.started_at) + 100000 THEN NULL
               WHEN joined.reason LIKE '%already rebalancing%' THEN NULL
               WHEN joined_before IS NULL THEN 'unknown'
               WHEN joined.topics <> '' AND joined_before.topics <> '' AND joined.topics <> joined_before.topics
               THEN 'subscription_changed'
               WHEN joined.owned_partitions >= 0 AND joined.owned_partitions < joined_before.owned_partitions
                    OR joined.reason LIKE '%need to revoke partitions%'
               THEN 'partitions_revoked'
               ELSE 'metadata_changed'
           END AS arrival_cause
    FROM placed
)
-- Per generation its newcomers, the first of its own requests that may have started it, and who departed after it.
SELECT cluster, group_id, protocol, life, generation,
       first_at, broker, broker_at_end, members_shown, joins, joining_from, stable_at, last_join,
       earlier_members, earlier_notified_at, earlier_broker, later_generation, follows, was_empty, someone_stays,
       slice(array_sort(collect_set(CASE WHEN arrival_cause = 'member_joined' THEN member_id END)), 1, 20) AS members_joined,
       min(named_struct('started_at', arrived_at, 'cause', arrival_cause, 'reason', coalesce(joined.reason, ''), 'who', who))
           FILTER (WHERE arrival_cause IS NOT NULL AND arrived_at IS NOT NULL) AS arrival,
       named_struct(
           'members_left', slice(array_sort(collect_set(CASE WHEN departure = 'member_left' THEN member_id END)), 1, 20),
           'members_gone', slice(array_sort(collect_set(CASE WHEN departure = 'member_expired' THEN member_id END)), 1, 20),
           'remaining', count(*) FILTER (WHERE departure IS NULL),
           'leaving', min(named_struct('started_at', leaving.started_at, 'cause', departure, 'reason', leaving.reason, 'who', who))
               FILTER (WHERE departure = 'member_left'),
           'all_left_at', max(left_at),
           'expiry', min(named_struct('started_at', last_seen_at, 'cause', departure, 'reason', '', 'who', who))
               FILTER (WHERE departure = 'member_expired')
       ) AS departures
FROM moves
GROUP BY cluster, group_id, protocol, life, generation,
         first_at, broker, broker_at_end, members_shown, joins, joining_from, stable_at, last_join,
         earlier_members, earlier_notified_at, earlier_broker, later_generation, follows, was_empty, someone_stays
