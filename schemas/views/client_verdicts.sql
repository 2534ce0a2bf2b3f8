-- Who works with which release: each client at each known release, with the verdict on the use that decides it, why, and what to upgrade to.
SELECT cluster, principal, client_id, client_software_name, client_software_version, release,
       CASE verdict_rank WHEN 0 THEN 'refused' WHEN 1 THEN 'deprecated' WHEN 2 THEN 'undecided' ELSE 'accepted' END AS verdict,
       CASE verdict_rank WHEN 0 THEN refused WHEN 1 THEN 'refused_later' WHEN 2 THEN undecided END AS reason,
       CASE WHEN verdict_rank = 1 THEN deprecated END AS refused_from,
       CASE WHEN verdict_rank < 3 THEN api_name END AS api_name,
       CASE WHEN verdict_rank < 3 THEN api_version END AS api_version,
       CASE WHEN verdict_rank < 3 THEN requests END AS requests,
       last_seen, library, upgrade_to, upgrade_newest, upgrade_over, raise_setting
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY cluster, principal, client_id, client_software_name, client_software_version, release
        ORDER BY verdict_rank, requests DESC, api_key, api_version
    ) AS use_rank
    FROM (
        SELECT *, CASE WHEN refused IS NOT NULL THEN 0 WHEN deprecated IS NOT NULL THEN 1 WHEN undecided IS NOT NULL THEN 2 ELSE 3 END
                  AS verdict_rank
        FROM (
            -- Of each use, only what counts at the release.
            SELECT i.cluster, i.principal, i.client_id, i.client_software_name, i.client_software_version, r.release, i.api_key,
                   i.api_name, i.api_version, i.requests, i.last_seen, i.library, i.refused_by[r.release] AS refused,
                   i.deprecated_by[r.release] AS deprecated, i.undecided_by[r.release] AS undecided,
                   i.upgrade_to[r.release] AS upgrade_to, i.upgrade_newest[r.release] AS upgrade_newest,
                   i.upgrade_over[r.release] AS upgrade_over, i.raise_setting[r.release] AS raise_setting
            FROM {upgrade_impact} AS i CROSS JOIN (SELECT DISTINCT release FROM {kafka_releases}) AS r
        ) AS of_releases
    ) AS of_uses
) AS of_clients
WHERE use_rank = 1
