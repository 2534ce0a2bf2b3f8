-- What each release of Kafka makes of each version of an API, for a client that uses it in one of four situations.
-- held_back: today's broker offers no higher version, or nothing shows that it does, so that the client may know a newer one.
-- never_negotiates: the client never asks for versions (ApiVersions), so that it cannot fall back to an older one.
-- reason: of a refusal or a doubt, why; of a deprecated version, the first later release that refuses it.
SELECT v.api_key, v.api_version, s.held_back, s.never_negotiates, v.release, v.release_order,
       CASE
         WHEN s.held_back AND v.reason IN ('below_range', 'refused_although_advertised') THEN 'undecided'
         WHEN NOT s.never_negotiates AND v.reason = 'above_range' THEN 'undecided'
         ELSE v.verdict
       END AS verdict,
       CASE
         WHEN s.held_back AND v.reason IN ('below_range', 'refused_although_advertised') THEN 'held_back_by_broker'
         WHEN NOT s.never_negotiates AND v.reason = 'above_range' THEN 'negotiates_down'
         ELSE coalesce(v.reason, v.refused_from)
       END AS reason
FROM {kafka_release_versions} AS v
CROSS JOIN (VALUES (false, false), (false, true), (true, false), (true, true)) AS s(held_back, never_negotiates)
