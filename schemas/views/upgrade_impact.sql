-- Who would break at each release of Kafka, and to which release of its library it can be upgraded.
-- A client's library is known from its software name (KIP-511) only: any program may use the client id that a library chooses by
-- default. A release of the library fits if, as measured, it shares a version of every API that the client uses both with today's
-- brokers and with the target.
--
--     the client's own release | advice
--     -------------------------|------------------------------------------------------------------------------------------
--     fits                     | raise_setting: the client is configured to use an older version
--     does not fit             | upgrade_to: the first newer release that fits; upgrade_newest: the last one
--     and no newer one fits    | upgrade_to and upgrade_over: first upgrade the brokers, to a release in between with which
--                              | today's client still works (KIP-1124)
--
-- A release that was not measured fits if those that were measured before and after it fit. A row has advice only if the release
-- that is advised, or the client's own, was seen to use the row's API: else it is not known whether it helps. Whether one works with brokers that
-- offer less of an API than 2.8.2 cannot be said if it was seen to use newer versions only: libraries were measured with 1.1.1 and
-- with 2.8.2 and later, and some use an API with the later ones only. There is no upgrade_over then, and no upgrade_newest if a
-- newer release may fit.
WITH usage AS (
  SELECT *, limited_by <> 'client' AS held_back FROM {client_version_usage}
),
releases AS (
  SELECT transform(array_sort(collect_list(one)), r -> r.release) AS names
  FROM (SELECT DISTINCT named_struct('release_order', release_order, 'release', release) AS one FROM {kafka_releases}) AS k
),

-- 1. What each release makes of each use.
judgements AS (
  SELECT api_key, api_version, held_back, never_negotiates,
         array_sort(collect_list(CASE WHEN verdict = 'refused' THEN entry END)) AS refused,
         array_sort(collect_list(CASE WHEN verdict = 'deprecated' THEN entry END)) AS deprecated,
         array_sort(collect_list(CASE WHEN verdict = 'undecided' THEN entry END)) AS undecided
  FROM (
    SELECT *, named_struct('release_order', release_order, 'release', release, 'reason', coalesce(reason, '')) AS entry
    FROM {release_judgements}
  ) AS j
  GROUP BY api_key, api_version, held_back, never_negotiates
),
judged AS (
  SELECT u.api_key, u.api_version, u.held_back, u.never_negotiates, u.header_v3,
         map_from_entries(transform(j.refused, e -> named_struct('release', e.release, 'reason', e.reason))) AS refused_by,
         map_from_entries(transform(j.deprecated, e -> named_struct('release', e.release, 'until', e.reason))) AS deprecated_by,
         CASE
           WHEN u.header_v3 THEN map_from_entries(transform(k.names, name -> named_struct('release', name, 'reason', 'header_v3')))
           WHEN j.api_key IS NULL AND u.api_key NOT IN (SELECT api_key FROM {kafka_releases} WHERE trait = 'always_answered')
             THEN map_from_entries(transform(k.names, name -> named_struct('release', name, 'reason', 'newer_than_known')))
           ELSE map_from_entries(transform(j.undecided, e -> named_struct('release', e.release, 'reason', e.reason)))
         END AS undecided_by
  FROM (SELECT DISTINCT api_key, api_version, held_back, never_negotiates, header_v3 FROM usage) AS u
  CROSS JOIN releases AS k
  -- No release reads header v3 (KIP-1313): it has an id at the position of header v2's tags, so a broker closes the
  -- connection, even on ApiVersions, unless the id happens to look like tags.
  LEFT JOIN judgements AS j
    ON NOT u.header_v3 AND u.api_key = j.api_key AND u.api_version = j.api_version AND u.held_back = j.held_back
    AND u.never_negotiates = j.never_negotiates
),

-- 2. Each client's library, and its own release of it.
clients AS (
  SELECT cluster, principal, client_id, client_software_name, client_software_version,
         array_sort(collect_list(named_struct(
           'api_key', api_key, 'api_version', api_version, 'held_back', held_back, 'never_negotiates', never_negotiates,
           'header_v3', header_v3
         ))) AS uses
  FROM usage
  GROUP BY cluster, principal, client_id, client_software_name, client_software_version
),
named AS (
  SELECT c.*, s.library,
         regexp_extract(c.client_software_version, '^v?([0-9]{1,6}(?:\.[0-9]{1,6}){0,5})', 1) AS own_release
  FROM clients AS c
  LEFT JOIN {client_libraries} AS s ON c.client_software_name = s.software_name
),

-- 3. The advice, made once for all clients of a cluster that have the same library and use the same.
alike AS (
  SELECT DISTINCT cluster, library, own_release, uses FROM named WHERE library IS NOT NULL
),
refused_uses AS (
  SELECT u.cluster, u.library, u.own_release, u.uses, j.api_key, j.api_version, j.release, j.release_order, j.reason
  FROM (SELECT *, explode(uses) AS used FROM alike) AS u
  JOIN {release_judgements} AS j
    ON u.used.api_key = j.api_key AND u.used.api_version = j.api_version AND u.used.held_back = j.held_back
    AND u.used.never_negotiates = j.never_negotiates
  WHERE j.verdict = 'refused' AND NOT u.used.header_v3
),
refusing AS (
  SELECT cluster, library, own_release, uses, collect_set(release) AS refused_by
  FROM refused_uses
  GROUP BY cluster, library, own_release, uses
),
floor AS (
  SELECT api_key, advertised_min, advertised_max FROM {kafka_releases} WHERE release = '2.8.2' AND advertised_max IS NOT NULL
),
offered AS (
  -- The versions that all of a cluster's brokers have offered since their last start.
  SELECT cluster, api_key, max(min_version) AS broker_min, min(max_version) AS broker_max
  FROM {process_api_versions}
  WHERE process_ended IS NULL
  GROUP BY cluster, api_key
),
today AS (
  SELECT cluster, api_key, broker_min, broker_max FROM offered
  UNION ALL
  -- If no answer is logged: brokers that log JSON are 2.8 or later, so what that offers stands for theirs.
  SELECT c.cluster, k.api_key, k.advertised_min, k.advertised_max
  FROM (SELECT cluster FROM {connections} GROUP BY cluster HAVING bool_and(log_generation = 'json')) AS c
  CROSS JOIN floor AS k
  WHERE c.cluster NOT IN (SELECT cluster FROM offered)
),
measured AS (
  SELECT u.cluster, u.library, u.own_release, u.uses, v.release_numbers, v.release,
         -- If no range is logged, the version that the client uses is known to work with today's brokers.
         bool_and(
           v.min_version <= coalesce(t.broker_max, u.used.api_version)
           AND v.max_version >= coalesce(t.broker_min, u.used.api_version)
         ) AS works_today,
         coalesce(bool_or(
           v.min_version > coalesce(t.broker_max, u.used.api_version) AND coalesce(t.broker_max, -1) < f.advertised_max
         ), false) AS is_unsure,
         array_distinct(flatten(collect_list(v.refused_by))) AS refused_by
  FROM (SELECT *, explode(uses) AS used FROM refusing) AS u
  JOIN {client_library_versions} AS v ON u.library = v.library AND u.used.api_key = v.api_key
  LEFT JOIN today AS t ON u.cluster = t.cluster AND u.used.api_key = t.api_key
  LEFT JOIN floor AS f ON u.used.api_key = f.api_key
  GROUP BY u.cluster, u.library, u.own_release, u.uses, v.release_numbers, v.release
),
candidates AS (
  SELECT r.cluster, r.library, r.own_release, r.uses, r.refused_by,
         -- Without zeros at the end, as 2.0 is 2.0.0; null if the release is not known.
         CASE WHEN r.own_release <> ''
           THEN transform(split(replace(regexp_replace(r.own_release, '(\.0+)+$', ''), '.', ' '), ' '), n -> CAST(n AS INT))
         END AS own_numbers,
         -- brokers: the first release of Kafka that works with this release of the library, and with today's client.
         named_struct(
           'release_numbers', m.release_numbers, 'release', m.release, 'works_today', m.works_today, 'is_unsure', m.is_unsure, 'refused_by', m.refused_by,
           'brokers', get(filter(k.names, name -> NOT array_contains(m.refused_by, name) AND NOT array_contains(r.refused_by, name)), 0)
         ) AS candidate
  FROM refusing AS r
  JOIN measured AS m ON r.cluster = m.cluster AND r.library = m.library AND r.own_release = m.own_release AND r.uses = m.uses
  CROSS JOIN releases AS k
),
options AS (
  SELECT cluster, library, own_release, uses, refused_by, own_numbers,
         max(CASE WHEN candidate.release_numbers <= own_numbers THEN candidate END) AS own,
         array_sort(collect_list(
           CASE WHEN own_numbers IS NULL OR candidate.release_numbers > own_numbers THEN candidate END
         )) AS newer
  FROM candidates
  GROUP BY cluster, library, own_release, uses, refused_by, own_numbers
),
at_targets AS (
  SELECT cluster, library, own_release, uses, target,
         coalesce(
           own.works_today AND NOT array_contains(own.refused_by, target)
           AND (own.release_numbers = own_numbers OR size(newer) = 0
                OR (get(newer, 0).works_today AND NOT array_contains(get(newer, 0).refused_by, target))),
           false
         ) AS own_fits,
         own.release AS own_measured, filter(newer, c -> NOT array_contains(c.refused_by, target)) AS fitting
  FROM (SELECT *, explode(refused_by) AS target FROM options) AS o
),
ways AS (
  SELECT cluster, library, own_release, uses, target, own_fits, own_measured, fitting,
         filter(fitting, c -> c.works_today) AS at_once, coalesce(array_max(filter(fitting, c -> c.works_today OR c.is_unsure)).is_unsure, false) AS is_unsure,
         get(filter(fitting, c -> c.brokers IS NOT NULL), 0).brokers AS first_brokers
  FROM at_targets
),
chosen AS (
  SELECT cluster, library, own_release, uses, target, own_fits, own_measured, is_unsure,
         CASE WHEN size(at_once) > 0 THEN at_once WHEN NOT is_unsure THEN filter(fitting, c -> c.brokers = first_brokers) END AS upgrades,
         CASE WHEN size(at_once) = 0 THEN first_brokers END AS brokers_first
  FROM ways
),
advice AS (
  -- A use needs advice at the releases that refuse it only; and a setting helps only if its version is too old.
  SELECT r.cluster, r.library, r.own_release, r.uses, r.api_key, r.api_version,
         array_sort(collect_list(
           CASE WHEN NOT c.own_fits AND size(c.upgrades) > 0 THEN named_struct(
             'release_order', r.release_order, 'release', r.release, 'first', get(c.upgrades, 0).release,
             'last', CASE WHEN NOT c.is_unsure THEN get(c.upgrades, size(c.upgrades) - 1).release END, 'brokers', c.brokers_first
           ) END
         )) AS upgrades,
         array_sort(collect_list(
           CASE WHEN c.own_fits AND r.reason IN ('below_range', 'refused_although_advertised') THEN named_struct(
             'release_order', r.release_order, 'release', r.release, 'setting', coalesce(l.version_settings, 'unknown')
           ) END
         )) AS settings
  FROM refused_uses AS r
  JOIN chosen AS c
    ON r.cluster = c.cluster AND r.library = c.library AND r.own_release = c.own_release AND r.uses = c.uses
    AND r.release = c.target
  JOIN {client_libraries} AS l ON r.library = l.library
  JOIN {client_library_versions} AS v
    ON r.library = v.library AND r.api_key = v.api_key
    AND v.release = CASE WHEN c.own_fits THEN c.own_measured ELSE get(c.upgrades, 0).release END
  GROUP BY r.cluster, r.library, r.own_release, r.uses, r.api_key, r.api_version
),
advised AS (
  SELECT cluster, library, own_release, uses, api_key, api_version,
         map_from_entries(transform(upgrades, u -> named_struct('release', u.release, 'to', u.first))) AS upgrade_to,
         map_from_entries(transform(
           filter(upgrades, u -> u.last IS NOT NULL), u -> named_struct('release', u.release, 'to', u.last)
         )) AS upgrade_newest,
         map_from_entries(transform(
           filter(upgrades, u -> u.brokers IS NOT NULL), u -> named_struct('release', u.release, 'over', u.brokers)
         )) AS upgrade_over,
         map_from_entries(transform(settings, s -> named_struct('release', s.release, 'setting', s.setting))) AS raise_setting
  FROM advice
)
SELECT u.cluster, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.api_key, u.api_name,
       u.api_version, u.requests, u.connections, u.hosts, u.host_list, u.first_seen, u.last_seen,
       coalesce(j.refused_by, map()) AS refused_by, coalesce(j.deprecated_by, map()) AS deprecated_by,
       coalesce(j.undecided_by, map()) AS undecided_by, u.limited_by, u.info_only, n.library,
       coalesce(a.upgrade_to, map()) AS upgrade_to, coalesce(a.upgrade_newest, map()) AS upgrade_newest,
       coalesce(a.upgrade_over, map()) AS upgrade_over, coalesce(a.raise_setting, map()) AS raise_setting
FROM usage AS u
JOIN judged AS j
  ON u.api_key = j.api_key AND u.api_version = j.api_version AND u.held_back = j.held_back
  AND u.never_negotiates = j.never_negotiates AND u.header_v3 = j.header_v3
JOIN named AS n
  ON u.cluster = n.cluster AND u.principal IS NOT DISTINCT FROM n.principal AND u.client_id IS NOT DISTINCT FROM n.client_id
  AND u.client_software_name = n.client_software_name AND u.client_software_version = n.client_software_version
LEFT JOIN advised AS a
  ON n.cluster = a.cluster AND n.library = a.library AND n.own_release = a.own_release AND n.uses = a.uses
  AND u.api_key = a.api_key AND u.api_version = a.api_version
