-- Who works with which release: each client at each known release, with the verdict on the use that decides it, why, and what to upgrade to.
SELECT cluster, principal, client_id, client_software_name, client_software_version, release,
       CASE verdict_rank WHEN 0 THEN 'refused' WHEN 1 THEN 'deprecated' WHEN 2 THEN 'undecided' ELSE 'accepted' END AS verdict,
       CASE verdict_rank WHEN 0 THEN refused_by[release] WHEN 1 THEN 'refused_later' WHEN 2 THEN undecided_by[release] END AS reason,
       CASE WHEN verdict_rank = 1 THEN deprecated_by[release] END AS refused_from,
       CASE WHEN verdict_rank < 3 THEN api_name END AS api_name,
       CASE WHEN verdict_rank < 3 THEN api_version END AS api_version,
       CASE WHEN verdict_rank < 3 THEN requests END AS requests,
       last_seen, library, upgrade_to[release] AS upgrade_to, upgrade_newest[release] AS upgrade_newest,
       upgrade_over[release] AS upgrade_over, raise_setting[release] AS raise_setting
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY cluster, principal, client_id, client_software_name, client_software_version, release
        ORDER BY verdict_rank, requests DESC, api_key, api_version
    ) AS use_rank
    FROM (
        SELECT i.*, r.release,
               CASE WHEN i.refused_by[r.release] IS NOT NULL THEN 0 WHEN i.deprecated_by[r.release] IS NOT NULL THEN 1
                    WHEN i.undecided_by[r.release] IS NOT NULL THEN 2 ELSE 3 END AS verdict_rank
        FROM {upgrade_impact} AS i CROSS JOIN (SELECT DISTINCT release FROM {kafka_releases}) AS r
    ) AS of_uses
) AS of_clients
WHERE use_rank = 1
