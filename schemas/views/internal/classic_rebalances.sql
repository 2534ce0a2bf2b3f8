-- Rebalances of classic groups: what JoinGroup, SyncGroup and LeaveGroup show of them, and who started each.
--
-- The coordinator answers all JoinGroups of a generation together, so a generation's members are those that were answered
-- with it, and those that the answer to its leader lists. What started it is found among the requests since the one before:
--
--     cause                | shown by
--     ---------------------|-----------------------------------------------------------------------------------------
--     member_left          | LeaveGroup of a member of the generation before
--     member_joined        | JoinGroup of a member that was not in the generation before
--     subscription_changed | JoinGroup of a member of the generation before, with other topics
--     partitions_revoked   | the same with fewer partitions: it has given some up, as a cooperative assignor asked for
--     metadata_changed     | the same with neither: other protocol names, or the leader saw that topics have changed
--     member_expired       | a member is missing, and the others learnt of the rebalance before they joined: inferred
--     coordinator_moved    | another broker answered than in the generation before, and nothing else explains it: inferred
--     unknown              | the log does not show the generation before, or nothing of the above
--
-- The request that arrived first started the rebalance.
--
-- If the last members leave, the coordinator makes a generation without members, which no request shows. It is a row of its own
-- if all members left by request, or if the next generation is the one after it, with other members.
WITH followed AS (
    SELECT *,
           CASE WHEN follows THEN lag(departures) OVER (PARTITION BY cluster, group_id, protocol, life ORDER BY generation) END
               AS departures_before,
           coalesce(joining_from, first_at) AS joining_at
    FROM {classic_generations}
),
rebalanced AS (
    -- A row for each generation that members joined, and one for each without members after it (is_empty); departed is who departed
    -- from the generation before.
    SELECT *, CASE WHEN is_empty THEN departures ELSE departures_before END AS departed
    FROM followed
    CROSS JOIN (VALUES (false), (true)) AS kinds(is_empty)
    WHERE CASE
        WHEN NOT is_empty THEN members_shown IS NOT NULL
        WHEN departures.remaining > 0 THEN false
        WHEN later_generation IS NULL THEN members_shown IS NOT NULL AND departures.expiry IS NULL
        ELSE later_generation = generation + 2
    END
),
requested AS (
    SELECT *,
           CASE
               WHEN is_empty OR arrival IS NULL OR departed.leaving.started_at < arrival.started_at THEN departed.leaving
               ELSE arrival
           END AS first_request
    FROM rebalanced
),
weighed AS (
    SELECT *,
           first_request IS NULL OR first_request.cause IN ('metadata_changed', 'unknown') AS is_weak,
           departed.expiry IS NOT NULL AND (
               first_request IS NULL
               OR earlier_notified_at IS NULL AND first_request.cause IN ('metadata_changed', 'unknown')
               -- If members learnt of a rebalance 1 s before a request, that request did not start it.
               OR coalesce(unix_micros(first_request.started_at) - unix_micros(earlier_notified_at) > 1000000, false)
           ) AS is_expired
    FROM requested
),
caused AS (
    SELECT *,
           CASE
               WHEN is_empty THEN coalesce(first_request, departed.expiry).cause
               WHEN follows AND earlier_broker <> broker AND (
                   is_expired OR is_weak
                   -- All members come back with new ids.
                   OR first_request.cause = 'member_joined' AND NOT someone_stays AND departed.leaving IS NULL
               ) THEN 'coordinator_moved'
               WHEN is_expired THEN 'member_expired'
               WHEN first_request IS NULL THEN 'unknown'
               -- The log shows nothing before the generation, and a request that arrived earlier may have started it.
               WHEN NOT follows AND NOT was_empty AND generation > 1 AND joining_from < first_request.started_at THEN 'unknown'
               ELSE first_request.cause
           END AS cause
    FROM weighed
)
SELECT cluster, group_id, protocol, life,
       CASE WHEN is_empty THEN generation + 1 ELSE generation END AS generation,
       CASE WHEN is_empty THEN broker_at_end ELSE broker END AS broker,
       CASE
           WHEN is_empty THEN first_request.started_at
           WHEN cause = 'member_expired' THEN least(earlier_notified_at, joining_at)
           WHEN cause IN ('coordinator_moved', 'unknown') THEN joining_at
           ELSE first_request.started_at
       END AS began_at,
       CASE WHEN NOT is_empty THEN stable_at WHEN departed.expiry IS NULL THEN departed.all_left_at END AS stable_at,
       cause,
       CASE
           WHEN is_empty THEN departed.expiry IS NOT NULL
           WHEN cause = 'metadata_changed' THEN first_request.reason = ''
           WHEN cause = 'member_joined' THEN joins = 0
           ELSE cause IN ('member_expired', 'coordinator_moved')
       END AS inferred,
       CASE
           WHEN cause = 'member_expired' THEN departed.expiry
           WHEN cause NOT IN ('coordinator_moved', 'unknown') THEN first_request
       END AS trigger,
       CASE
           WHEN is_empty THEN members_shown
           WHEN follows THEN earlier_members
           WHEN was_empty OR generation = 1 THEN 0
       END AS members_before,
       CASE WHEN is_empty THEN 0 ELSE members_shown END AS members_after,
       CASE WHEN NOT is_empty THEN members_joined END AS members_joined,
       departed.members_left AS members_left,
       departed.members_gone AS members_expired,
       CASE WHEN NOT is_empty THEN last_join END AS last_join
FROM caused
