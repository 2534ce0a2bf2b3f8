-- Rebalances of consumer, share and streams groups (KIP-848, KIP-932, KIP-1071), which heartbeats show, and who started each.
--
-- The coordinator raises the group's epoch when its members, their subscriptions or the metadata of topics change. It does not
-- log that epoch, but hands it to the members in its answers, so that a generation here is an epoch that at least one member
-- got. It begins with the request that raised the epoch, and is stable when all members have it:
--
--     cause                | shown by, since the generation before
--     ---------------------|-----------------------------------------------------------------------------------------
--     member_joined        | a heartbeat with epoch 0
--     member_left          | a heartbeat with epoch -1
--     subscription_changed | a heartbeat that states other topics than the member stated before
--     member_expired       | none of these; a member was silent for two heartbeats and longer: inferred
--     metadata_changed     | none of these; so topics or partitions were created or deleted: inferred
--     unknown              | the log does not show the generation before
--
-- Members that come later than in the first generation of a log without having joined were there before; so members are only
-- counted if the log shows how the group began, or the time of two heartbeats before. If all members have gone, the epoch
-- without members is a row of its own; the log does not show its number, which follows from what came next.
WITH rebalanced AS (
    -- A row for each epoch that members got (got), one for each without members before it (emptied), and one for that at the end of
    -- a history if all members have left (ended). Of the members of an emptied epoch nobody is left, so that only the others started
    -- the next one.
    SELECT *,
           CASE
               WHEN kind = 'emptied' THEN leaving
               WHEN kind = 'ended' THEN leaving_after
               WHEN is_emptied THEN arrival
               ELSE any_request
           END AS first_request
    FROM {epoch_generations}
    CROSS JOIN (VALUES ('got'), ('emptied'), ('ended')) AS kinds(kind)
    WHERE CASE kind
        WHEN 'got' THEN joined_by IS NOT NULL
        WHEN 'emptied' THEN is_emptied
        ELSE number_left_after > 0 AND number_left_after = members
    END
),
caused AS (
    SELECT *,
           CASE
               WHEN first_request IS NOT NULL THEN first_request.cause
               WHEN kind = 'emptied' THEN 'member_expired'
               WHEN earlier_generation IS NULL OR NOT is_counted THEN 'unknown'
               WHEN expiry IS NOT NULL THEN 'member_expired'
               ELSE 'metadata_changed'
           END AS cause
    FROM rebalanced
)
SELECT cluster, group_id, protocol, life,
       CASE kind WHEN 'emptied' THEN generation - 1 WHEN 'ended' THEN generation + number_left_after ELSE generation END AS generation,
       CASE kind WHEN 'emptied' THEN earlier_broker WHEN 'ended' THEN broker_at_end ELSE broker END AS broker,
       CASE WHEN kind = 'got' THEN coalesce(first_request.started_at, joining_from) ELSE first_request.started_at END AS began_at,
       CASE
           WHEN kind = 'ended' OR kind = 'emptied' AND expiry IS NULL THEN all_left_at
           WHEN kind = 'got' AND members_seen >= members THEN greatest(last_at, joined_by)
       END AS stable_at,
       cause,
       CASE kind
           WHEN 'emptied' THEN expiry IS NOT NULL
           WHEN 'ended' THEN false
           ELSE cause IN ('member_expired', 'metadata_changed')
       END AS inferred,
       CASE WHEN cause = 'member_expired' THEN expiry ELSE first_request END AS trigger,
       CASE WHEN kind = 'ended' THEN members WHEN kind = 'got' AND is_emptied THEN 0 ELSE number_before END AS members_before,
       CASE WHEN kind = 'got' THEN members ELSE 0 END AS members_after,
       CASE WHEN kind = 'got' THEN members_joined END AS members_joined,
       CASE WHEN kind = 'ended' THEN members_left_after WHEN kind = 'emptied' OR NOT is_emptied THEN members_left END AS members_left,
       CASE WHEN kind = 'emptied' OR kind = 'got' AND NOT is_emptied THEN members_gone END AS members_expired
FROM caused
