-- Generations that members of groups had: when, on which broker and with how many members, beside those before and after.
WITH generations AS (
    SELECT cluster, group_id, protocol, life, generation,
           min(first_seen_at) AS first_at,
           max(first_seen_at) AS last_at,
           min(named_struct('at', first_seen_at, 'broker', first_broker)).broker AS broker,
           max(named_struct('at', last_seen_at, 'broker', last_broker)).broker AS broker_at_end,
           count(*) AS members_seen,
           -- A generation that heartbeats alone show may have more members.
           nullif(count(*) FILTER (WHERE is_shown), 0) AS members_shown,
           count(joined) AS joins,
           min(joined.started_at) AS joining_from,
           min(joined.logged_at) AS joined_by,
           min(synced_at) AS synced_at,
           min(rebalance_seen_at) AS notified_at,
           max(heartbeat_interval_ms) AS heartbeat_interval_ms,
           coalesce(bool_or(joined.is_new), false) AS has_new,
           max(CASE WHEN joined IS NOT NULL THEN named_struct(
               'joined_at', joined.started_at, 'member_id', member_id, 'is_static', group_instance_id IS NOT NULL
           ) END) AS last_join
    FROM {group_history}
    GROUP BY cluster, group_id, protocol, life, generation
)
SELECT *,
       lag(generation) OVER in_order AS earlier_generation,
       lag(members_shown) OVER in_order AS earlier_members,
       lag(notified_at) OVER in_order AS earlier_notified_at,
       lag(broker_at_end) OVER in_order AS earlier_broker,
       lead(generation) OVER in_order AS later_generation
FROM generations
WINDOW in_order AS (PARTITION BY cluster, group_id, protocol, life ORDER BY generation)
