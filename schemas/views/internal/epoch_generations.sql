-- Epochs that members of consumer, share and streams groups got: who came and went since the one before, and the numbers of members.
WITH changes AS (
    SELECT cluster, group_id, protocol, life, generation,
           count(*) FILTER (WHERE kind = 'joined') AS number_joined,
           count(*) FILTER (WHERE kind = 'there') AS number_there,
           count(*) FILTER (WHERE kind IN ('left', 'gone')) AS number_departed,
           count(*) FILTER (WHERE kind = 'left_after') AS number_left_after,
           slice(array_sort(collect_set(CASE WHEN kind IN ('joined', 'again') THEN member_id END)), 1, 20) AS members_joined,
           slice(array_sort(collect_set(CASE WHEN kind = 'left' THEN member_id END)), 1, 20) AS members_left,
           slice(array_sort(collect_set(CASE WHEN kind = 'gone' THEN member_id END)), 1, 20) AS members_gone,
           slice(array_sort(collect_set(CASE WHEN kind = 'left_after' THEN member_id END)), 1, 20) AS members_left_after,
           min(trigger) FILTER (WHERE kind IN ('joined', 'again')) AS arrival,
           min(trigger) FILTER (WHERE kind = 'left') AS leaving,
           min(trigger) FILTER (WHERE kind = 'left_after') AS leaving_after,
           min(trigger) FILTER (WHERE kind = 'gone') AS expiry,
           -- At the same time, a member that joins is before one that leaves, and that before one that subscribes to other topics.
           min(trigger) FILTER (WHERE kind IN ('joined', 'again', 'left', 'changed')) AS any_request,
           max(happened_at) FILTER (WHERE kind IN ('left', 'left_after')) AS all_left_at
    FROM {epoch_changes}
    GROUP BY cluster, group_id, protocol, life, generation
),
generations AS (
    SELECT g.cluster, g.group_id, g.protocol, g.life, g.generation, g.broker, g.broker_at_end, g.earlier_generation, g.earlier_broker,
           g.joined_by, g.joining_from, g.first_at, g.last_at, g.heartbeat_interval_ms, g.has_new, g.members_seen,
           coalesce(number_joined, 0) AS number_joined,
           coalesce(number_departed, 0) AS number_departed,
           coalesce(number_left_after, 0) AS number_left_after,
           coalesce(number_joined + number_there - number_departed, 0) AS growth,
           members_joined, members_left, members_gone, members_left_after,
           arrival, leaving, leaving_after, expiry, any_request, all_left_at
    FROM {group_generations} AS g
    LEFT JOIN changes AS c
      ON g.cluster = c.cluster AND g.group_id = c.group_id AND g.protocol = c.protocol AND g.life = c.life
     AND g.generation = c.generation
    WHERE g.protocol <> 'classic'
),
summed AS (
    SELECT *,
           CAST(sum(growth) OVER upto_here AS BIGINT) AS number_after,
           -- 5 s is Kafka's default interval of heartbeats, if no answer states one.
           first_value(has_new) OVER upto_here
               OR unix_micros(coalesce(joined_by, first_at)) - unix_micros(min(first_at) OVER upto_here)
                  > 2 * 1000 * CAST(coalesce(max(heartbeat_interval_ms) OVER upto_here, 5000) AS BIGINT) AS is_counted
    FROM generations
    WINDOW upto_here AS (
        PARTITION BY cluster, group_id, protocol, life ORDER BY generation ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
counted AS (
    SELECT *,
           CASE WHEN is_counted THEN number_after - growth END AS number_before,
           CASE WHEN is_counted THEN number_after END AS members
    FROM summed
)
-- All members have gone before others joined, and the number of an epoch without members is left for that.
SELECT *,
       coalesce(
           number_before > 0 AND number_before = number_departed AND number_joined > 0 AND generation - 1 > earlier_generation,
           false
       ) AS is_emptied
FROM counted
