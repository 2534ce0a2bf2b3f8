-- Per group and generation: when the rebalance began and was over, what started it, and the members before and after. What a log can't show is inferred from what follows, and says so (inferred).
WITH rebalances AS (
    SELECT * FROM {classic_rebalances}
    UNION ALL
    -- Members of other groups do not wait for the last one to join.
    SELECT *, NULL FROM {epoch_rebalances}
)
SELECT cluster, group_id, protocol, life, generation, broker,
       began_at, stable_at,
       CAST(floor((unix_micros(stable_at) - unix_micros(began_at)) / 1000) AS BIGINT) AS duration_ms,
       cause, inferred,
       nullif(trigger.reason, '') AS reason,
       nullif(trigger.who.member_id, '') AS member_id,
       nullif(trigger.who.group_instance_id, '') AS group_instance_id,
       nullif(trigger.who.client_id, '') AS client_id,
       nullif(trigger.who.principal, '') AS principal,
       nullif(trigger.who.remote_host, '') AS remote_host,
       nullif(trigger.who.client_software_name, '') AS client_software_name,
       nullif(trigger.who.client_software_version, '') AS client_software_version,
       members_before, members_after,
       coalesce(members_joined, array_repeat('', 0)) AS members_joined,
       coalesce(members_left, array_repeat('', 0)) AS members_left,
       coalesce(members_expired, array_repeat('', 0)) AS members_expired,
       last_join.member_id AS last_to_join,
       last_join.joined_at AS last_joined_at,
       last_join.is_static AS last_is_static
FROM rebalances
