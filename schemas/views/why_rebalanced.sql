-- Why a group rebalanced: each rebalance in words, the newest first, with who started it, and how often the group rebalanced for that cause.
SELECT cluster, group_id, began_at, duration_ms, cause, inferred,
       CASE cause
           WHEN 'member_joined' THEN 'a member joined'
           WHEN 'member_left' THEN 'a member left'
           WHEN 'member_expired' THEN 'a member expired without a request'
           WHEN 'subscription_changed' THEN 'a member subscribed to other topics'
           WHEN 'metadata_changed' THEN 'protocols or the metadata of topics changed'
           WHEN 'partitions_revoked' THEN 'a member gave partitions up and joined again, as a cooperative assignor asks for'
           WHEN 'coordinator_moved' THEN 'the coordinator moved to another broker'
           ELSE 'the log does not show why'
       END AS why,
       reason, client_id, principal, remote_host, client_software_name, client_software_version, member_id, group_instance_id,
       members_before, members_after, members_joined, members_left, members_expired, last_to_join, generation, protocol, broker,
       count(*) OVER (PARTITION BY cluster, group_id, cause) AS times
FROM {group_rebalances}
ORDER BY began_at DESC, cluster, group_id, generation
