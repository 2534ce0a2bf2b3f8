-- What members of consumer, share and streams groups did, each with the epoch that it belongs to.
--
--     kind              | the member
--     ------------------|-----------------------------------------------------------------------------
--     joined            | sent epoch 0
--     again             | did so after it was expired, so that the number of members stays
--     there             | comes later than in the log's first epoch without having joined: it was there before
--     left, left_after  | left; left_after if no epoch follows
--     gone              | fell silent for two intervals of heartbeats: it has missed one at least
--     changed           | stated other topics than before
WITH members AS (
    SELECT *,
           generation_before IS NULL AS begins,
           -- The subscription that it stated last in earlier generations.
           lag(last_stated.topics) OVER (
               PARTITION BY cluster, group_id, protocol, life, identity, last_stated IS NULL ORDER BY first_seen_at, generation
           ) AS topics_before,
           -- A static member that comes back takes its old place.
           coalesce(joined.is_new, false) AND (generation_before IS NULL OR group_instance_id IS NULL) AS joins
    FROM {group_history}
    WHERE protocol <> 'classic'
),
dated AS (
    SELECT *,
           -- 5 s is Kafka's default interval of heartbeats, if no answer states one.
           timestamp_micros(unix_micros(last_seen_at) + 2 * 1000 * coalesce(CAST(heartbeat_interval_ms AS BIGINT), 5000)) AS silent_at,
           CASE
               WHEN first_stated.topics <> topics_before
                    AND NOT coalesce(joins AND first_stated.logged_at = joined.logged_at, false)
               THEN first_stated.started_at
               WHEN last_stated.topics <> first_stated.topics THEN last_stated.started_at
           END AS changed_at
    FROM members
),
changes AS (
    SELECT cluster, group_id, protocol, life, generation, next_generation, member_id, kind,
           CASE kind
               WHEN 'there' THEN first_seen_at
               WHEN 'left' THEN left_at
               WHEN 'gone' THEN silent_at
               WHEN 'changed' THEN changed_at
               ELSE joined.logged_at
           END AS happened_at,
           named_struct(
               'started_at', CASE kind
                   WHEN 'there' THEN first_seen_at
                   WHEN 'left' THEN leaving.started_at
                   WHEN 'gone' THEN last_seen_at
                   WHEN 'changed' THEN changed_at
                   ELSE joined.started_at
               END,
               'cause', CASE kind
                   WHEN 'there' THEN 'unknown'
                   WHEN 'left' THEN 'member_left'
                   WHEN 'gone' THEN 'member_expired'
                   WHEN 'changed' THEN 'subscription_changed'
                   ELSE 'member_joined'
               END,
               'reason', CASE WHEN kind = 'left' THEN leaving.reason ELSE '' END,
               'who', who
           ) AS trigger
    FROM dated
    CROSS JOIN (VALUES ('joined'), ('again'), ('there'), ('left'), ('gone'), ('changed')) AS kinds(kind)
    WHERE CASE kind
        WHEN 'joined' THEN joins AND begins
        WHEN 'again' THEN joins AND NOT begins
        WHEN 'there' THEN begins AND NOT joins
        WHEN 'left' THEN left_at IS NOT NULL
        WHEN 'gone' THEN left_at IS NULL AND next_generation IS NULL
        WHEN 'changed' THEN changed_at IS NOT NULL
    END
),
timeline AS (
    -- The changes, and the times at which epochs begin.
    SELECT cluster, group_id, protocol, life, happened_at, CAST(NULL AS BIGINT) AS begun,
           generation AS own_generation, next_generation, member_id, kind, trigger
    FROM changes
    UNION ALL
    SELECT cluster, group_id, protocol, life, coalesce(min(joined.logged_at), min(first_seen_at)), generation,
           NULL, NULL, NULL, NULL, NULL
    FROM members
    GROUP BY cluster, group_id, protocol, life, generation
),
followed AS (
    -- The first epoch that members got at the time of a change or later, and the life's first and last one.
    SELECT *,
           min(CASE WHEN begun IS NOT NULL THEN named_struct('at', happened_at, 'epoch', begun) END) OVER from_the_end.epoch AS next_begun,
           min(begun) OVER of_life AS first_begun,
           max(begun) OVER of_life AS last_begun
    FROM timeline
    WINDOW of_life AS (PARTITION BY cluster, group_id, protocol, life),
           from_the_end AS (
               PARTITION BY cluster, group_id, protocol, life ORDER BY happened_at DESC, begun IS NULL, begun DESC
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           )
),
placed AS (
    SELECT cluster, group_id, protocol, life, happened_at, begun, member_id, trigger,
           CASE WHEN kind = 'left' AND next_begun IS NULL THEN 'left_after' ELSE kind END AS kind,
           CASE
               WHEN begun IS NOT NULL THEN begun
               -- A coordinator that assigns partitions later answers a new member with an epoch that others already have, and
               -- hands it the next one.
               WHEN kind IN ('joined', 'again') THEN CASE WHEN next_begun = next_generation THEN next_begun ELSE own_generation END
               WHEN kind = 'there' THEN first_begun
               WHEN kind = 'left' THEN coalesce(next_begun, last_begun)
               ELSE next_begun
           END AS generation
    FROM followed
),
explained AS (
    SELECT *, coalesce(bool_or(kind <> 'gone') OVER (PARTITION BY cluster, group_id, protocol, life, generation), false)
                  AS is_explained
    FROM placed
),
expired AS (
    SELECT *,
           min(CASE WHEN begun IS NOT NULL AND NOT is_explained THEN named_struct('at', happened_at, 'epoch', begun) END) OVER (
               PARTITION BY cluster, group_id, protocol, life ORDER BY happened_at DESC, begun IS NULL, begun DESC
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           ) AS unexplained
    FROM explained
),
chosen AS (
    -- The coordinator removes a silent member only when its session has timed out: if other changes explain the epochs before, that
    -- one for which there is nothing else is the member's. It is at most 75 s after its last heartbeat: 60 s
    -- (group.consumer.max.session.timeout.ms by default), and what passes until a member gets the new epoch.
    SELECT cluster, group_id, protocol, life, member_id, kind, happened_at, trigger,
           CASE
               WHEN kind = 'gone' AND unix_micros(unexplained.at) - unix_micros(trigger.started_at) <= 75000000 THEN unexplained.epoch
               ELSE generation
           END AS generation
    FROM expired
    WHERE begun IS NULL
)
SELECT * FROM chosen WHERE generation IS NOT NULL
