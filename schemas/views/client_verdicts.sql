-- Who works with which release: each client at each known release, with the verdict on the use that decides it, why, and what to upgrade to.
-- It judges what brokers accepted: a client that is accepted here may have requests in `refused_requests`.
SELECT cluster, principal, client_id, client_software_name, client_software_version, release,
       CASE worst.verdict_rank WHEN 0 THEN 'refused' WHEN 1 THEN 'deprecated' WHEN 2 THEN 'undecided' ELSE 'accepted' END AS verdict,
       CASE worst.verdict_rank WHEN 1 THEN 'refused_later' ELSE worst.why END AS reason,
       CASE WHEN worst.verdict_rank = 1 THEN worst.why END AS refused_from,
       CASE WHEN worst.verdict_rank < 3 THEN worst.api_name END AS api_name,
       CASE WHEN worst.verdict_rank < 3 THEN worst.api_version END AS api_version,
       CASE WHEN worst.verdict_rank < 3 THEN -worst.minus_requests END AS requests,
       worst.last_seen AS last_seen, worst.library AS library, worst.upgrade_to AS upgrade_to,
       worst.upgrade_newest AS upgrade_newest, worst.upgrade_over AS upgrade_over, worst.raise_setting AS raise_setting
FROM (
    SELECT i.cluster, i.principal, i.client_id, i.client_software_name, i.client_software_version, r.release,
           -- The least struct is the use that decides: a window over all uses at all releases would sort millions of rows.
           min(named_struct(
             'verdict_rank', CASE
               WHEN i.refused_by[r.release] IS NOT NULL THEN 0
               WHEN i.deprecated_by[r.release] IS NOT NULL THEN 1
               WHEN i.undecided_by[r.release] IS NOT NULL THEN 2
               ELSE 3
             END,
             'minus_requests', -i.requests, 'api_key', i.api_key, 'api_version', i.api_version, 'api_name', i.api_name,
             'why', coalesce(i.refused_by[r.release], i.deprecated_by[r.release], i.undecided_by[r.release]),
             'last_seen', i.last_seen, 'library', i.library, 'upgrade_to', i.upgrade_to[r.release],
             'upgrade_newest', i.upgrade_newest[r.release], 'upgrade_over', i.upgrade_over[r.release],
             'raise_setting', i.raise_setting[r.release]
           )) AS worst
    FROM {upgrade_impact} AS i CROSS JOIN (SELECT DISTINCT release FROM {kafka_releases}) AS r
    GROUP BY i.cluster, i.principal, i.client_id, i.client_software_name, i.client_software_version, r.release
) AS of_clients
