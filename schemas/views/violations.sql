-- Broken rules: those that single connections break, and those that only several connections, groups or server.log show.
WITH findings AS (
    SELECT * FROM {findings_activity}
    UNION ALL SELECT * FROM {findings_client_instances}
    UNION ALL SELECT * FROM {findings_failed_requests}
    UNION ALL SELECT * FROM {findings_groups}
    UNION ALL SELECT * FROM {findings_negotiations}
), judged AS (
    -- Where the rule's KIP does not bind, a finding is information.
    SELECT f.*, r.asks, r.kip AS rule_kip, coalesce(f.binds, true) AS is_bound,
           CASE WHEN coalesce(f.binds, true) THEN coalesce(f.blames, r.blames) ELSE r.blames_unbound END AS blamed,
           CASE WHEN coalesce(f.binds, true) THEN r.severity ELSE r.severity_unbound END AS severity
    FROM findings AS f JOIN {violation_rules} AS r ON f.rule = r.rule
)
SELECT rule, cluster, broker, connection_id, opened_at, opened_seq, group_id, kip, severity, blames,
       client_id, principal, client_software_name, client_software_version, remote_host,
       occurrences, rejected, taken, first_at, last_at, example, message
FROM {connection_violations}
UNION ALL
SELECT rule, cluster, broker, connection_id, CAST(NULL AS TIMESTAMP), CAST(NULL AS INT), group_id,
       CASE WHEN is_bound THEN rule_kip END AS kip, severity, blamed AS blames,
       client_id, principal, client_software_name, client_software_version, remote_host,
       occurrences, rejected, taken, first_at, last_at, example, concat(harmless(message, 1000), '; ', asks) AS message
FROM judged WHERE severity <> 'off'
