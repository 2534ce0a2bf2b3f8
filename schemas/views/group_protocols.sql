-- Per group (KIP-559): protocol types and names in requests and responses, which messages can be read on their own, and the members with their subscriptions.
WITH facts AS (
    SELECT cluster, group_id,
           array_sort(array_distinct(flatten(collect_list(kinds)))) AS seen_kinds,
           slice(array_sort(collect_set(broker)), 1, 20) AS brokers,
           count(CASE WHEN takes_part THEN 1 END) AS connections,
           slice(array_sort(collect_set(CASE WHEN takes_part THEN client_id END)), 1, 20) AS client_ids,
           slice(array_sort(collect_set(CASE WHEN takes_part THEN principal END)), 1, 20) AS principals,
           sum(requests) AS requests, min(first_at) AS first_at, max(last_at) AS last_at,
           slice(array_sort(array_distinct(flatten(collect_list(protocol_types_request)))), 1, 20) AS protocol_types_request,
           slice(array_sort(array_distinct(flatten(collect_list(protocol_types_response)))), 1, 20) AS protocol_types_response,
           slice(array_sort(array_distinct(flatten(collect_list(protocol_names_request)))), 1, 20) AS protocol_names_request,
           slice(array_sort(array_distinct(flatten(collect_list(protocol_names_response)))), 1, 20) AS protocol_names_response,
           sum(inconsistent_group_protocol) AS inconsistent_group_protocol,
           sum(inconsistent_join_group) AS inconsistent_join_group, sum(inconsistent_sync_group) AS inconsistent_sync_group,
           min(inconsistent_first_at) AS inconsistent_first_at, max(inconsistent_last_at) AS inconsistent_last_at,
           min(inconsistent_example) AS inconsistent_example,
           array_sort(array_distinct(flatten(collect_list(members)))) AS all_members,
           sum(protocol_name_mismatches) AS protocol_name_mismatches, sum(undecoded_payloads) AS undecoded_payloads
    FROM {connection_groups}
    GROUP BY cluster, group_id
),
messages AS (
    SELECT cluster, group_id, entry.api_name, entry.api_version, entry.message,
           CAST(sum(entry.self_describing) AS BIGINT) AS self_describing,
           CAST(sum(entry.not_self_describing) AS BIGINT) AS not_self_describing
    FROM (SELECT cluster, group_id, explode(messages) AS entry FROM {connection_groups}) AS m
    GROUP BY cluster, group_id, entry.api_name, entry.api_version, entry.message
),
types AS (
    SELECT cluster, group_id, entry.protocol_type, min(entry.first_at) AS first_at, max(entry.last_at) AS last_at,
           CAST(sum(entry.requests) AS BIGINT) AS requests, min(entry.example) AS example,
           CAST(sum(entry.rejected) AS BIGINT) AS rejected, CAST(sum(entry.taken) AS BIGINT) AS taken
    FROM (SELECT cluster, group_id, explode(requests_by_type) AS entry FROM {connection_groups}) AS t
    GROUP BY cluster, group_id, entry.protocol_type
),
-- Since when a group's 20 newest subscriptions were stated, and its 20 newest assignments made; only entries since then are
-- compared, as the others are many.
subscribed_since AS (
    SELECT cluster, group_id, min(stated_at) AS since
    FROM (
        SELECT cluster, group_id, stated_at, rank() OVER (PARTITION BY cluster, group_id ORDER BY stated_at DESC) AS place
        FROM (
            SELECT cluster, group_id, max(entry.stated_at) AS stated_at
            FROM (SELECT cluster, group_id, explode(subscriptions) AS entry FROM {connection_groups}) AS s
            GROUP BY cluster, group_id, entry.member_id, entry.protocol_name
        ) AS last_stated
    ) AS placed
    WHERE place <= 20
    GROUP BY cluster, group_id
),
assigned_since AS (
    SELECT cluster, group_id, min(assigned_at) AS since
    FROM (
        SELECT cluster, group_id, assigned_at, rank() OVER (PARTITION BY cluster, group_id ORDER BY assigned_at DESC) AS place
        FROM (
            SELECT cluster, group_id, max(entry.assigned_at) AS assigned_at
            FROM (SELECT cluster, group_id, explode(assignments) AS entry FROM {connection_groups}) AS a
            GROUP BY cluster, group_id, entry.member_id
        ) AS last_assigned
    ) AS placed
    WHERE place <= 20
    GROUP BY cluster, group_id
),
-- The last entry of each member and protocol name. Two connections may state something at the same time, so the
-- connection's key is part of the order.
subscriptions AS (
    SELECT e.cluster, e.group_id, e.entry.member_id, e.entry.protocol_name, max_by(e.entry, e.in_time) AS entry,
           max(e.in_time) AS in_time
    FROM (
        SELECT s.cluster, s.group_id, s.entry,
               named_struct('at', s.entry.stated_at, 'broker', s.broker, 'connection_id', s.connection_id,
                            'opened_at', s.opened_at, 'opened_seq', s.opened_seq) AS in_time
        FROM (
            SELECT cluster, group_id, broker, connection_id, opened_at, opened_seq, explode(subscriptions) AS entry
            FROM {connection_groups}
        ) AS s
        JOIN subscribed_since AS n ON s.cluster = n.cluster AND s.group_id = n.group_id AND s.entry.stated_at >= n.since
    ) AS e
    GROUP BY e.cluster, e.group_id, e.entry.member_id, e.entry.protocol_name
),
newest_subscriptions AS (
    SELECT cluster, group_id, entry,
           row_number() OVER (PARTITION BY cluster, group_id
                              ORDER BY in_time DESC, member_id DESC NULLS LAST, protocol_name DESC NULLS LAST) AS place
    FROM subscriptions
),
assignments AS (
    SELECT e.cluster, e.group_id, e.entry.member_id, max_by(e.entry, e.in_time) AS entry, max(e.in_time) AS in_time
    FROM (
        SELECT a.cluster, a.group_id, a.entry,
               named_struct('at', a.entry.assigned_at, 'broker', a.broker, 'connection_id', a.connection_id,
                            'opened_at', a.opened_at, 'opened_seq', a.opened_seq) AS in_time
        FROM (
            SELECT cluster, group_id, broker, connection_id, opened_at, opened_seq, explode(assignments) AS entry
            FROM {connection_groups}
        ) AS a
        JOIN assigned_since AS n ON a.cluster = n.cluster AND a.group_id = n.group_id AND a.entry.assigned_at >= n.since
    ) AS e
    GROUP BY e.cluster, e.group_id, e.entry.member_id
),
newest_assignments AS (
    SELECT cluster, group_id, entry,
           row_number() OVER (PARTITION BY cluster, group_id ORDER BY in_time DESC, member_id DESC NULLS LAST) AS place
    FROM assignments
),
-- The lists of a group; the joins from `facts` give empty lists to a group without entries.
messages_of_groups AS (
    SELECT f.cluster, f.group_id,
           array_sort(collect_list(CASE WHEN m.self_describing > 0 THEN named_struct(
               'api_name', m.api_name, 'api_version', m.api_version, 'message', m.message, 'messages', m.self_describing
           ) END)) AS self_describing,
           array_sort(collect_list(CASE WHEN m.not_self_describing > 0 THEN named_struct(
               'api_name', m.api_name, 'api_version', m.api_version, 'message', m.message, 'messages', m.not_self_describing
           ) END)) AS not_self_describing,
           -- Brokers verify the SyncGroup requests that state type and name (KIP-559).
           sum(CASE WHEN m.api_name = 'SYNC_GROUP' AND m.message = 'request' THEN m.self_describing ELSE 0 END)
               AS verified_sync_requests,
           sum(CASE WHEN m.api_name = 'SYNC_GROUP' AND m.message = 'request' THEN m.not_self_describing ELSE 0 END)
               AS unverified_sync_requests
    FROM facts AS f LEFT JOIN messages AS m ON f.cluster = m.cluster AND f.group_id = m.group_id
    GROUP BY f.cluster, f.group_id
),
types_of_groups AS (
    SELECT f.cluster, f.group_id,
           slice(array_sort(collect_list(CASE WHEN t.cluster IS NOT NULL THEN named_struct(
               'first_at', t.first_at, 'protocol_type', t.protocol_type, 'last_at', t.last_at, 'requests', t.requests,
               'example', t.example, 'rejected', t.rejected, 'taken', t.taken
           ) END)), 1, 20) AS requests_by_type
    FROM facts AS f LEFT JOIN types AS t ON f.cluster = t.cluster AND f.group_id = t.group_id
    GROUP BY f.cluster, f.group_id
),
subscriptions_of_groups AS (
    SELECT f.cluster, f.group_id,
           transform(array_sort(collect_list(
               CASE WHEN s.place IS NOT NULL THEN named_struct('place', s.place, 'entry', s.entry) END
           )), placed -> placed.entry) AS subscriptions
    FROM facts AS f LEFT JOIN newest_subscriptions AS s ON f.cluster = s.cluster AND f.group_id = s.group_id AND s.place <= 20
    GROUP BY f.cluster, f.group_id
),
assignments_of_groups AS (
    SELECT f.cluster, f.group_id,
           transform(array_sort(collect_list(
               CASE WHEN a.place IS NOT NULL THEN named_struct('place', a.place, 'entry', a.entry) END
           )), placed -> placed.entry) AS assignments
    FROM facts AS f LEFT JOIN newest_assignments AS a ON f.cluster = a.cluster AND f.group_id = a.group_id AND a.place <= 20
    GROUP BY f.cluster, f.group_id
),
-- If some messages show a Connect group, classic ones without a type belong to it.
with_kinds AS (
    SELECT *, filter(seen_kinds, kind -> kind <> 'classic' OR NOT array_contains(seen_kinds, 'connect')) AS kinds FROM facts
)
SELECT g.cluster, g.group_id, CASE WHEN size(g.kinds) > 1 THEN 'mixed' ELSE get(g.kinds, 0) END AS kind, g.kinds, g.brokers,
       g.connections, g.client_ids, g.principals, g.requests, g.first_at, g.last_at,
       array_sort(array_union(g.protocol_types_request, g.protocol_types_response)) AS protocol_types,
       g.protocol_types_request, g.protocol_types_response,
       array_sort(array_union(g.protocol_names_request, g.protocol_names_response)) AS protocol_names,
       g.protocol_names_request, g.protocol_names_response,
       m.self_describing, m.not_self_describing, m.verified_sync_requests, m.unverified_sync_requests,
       g.inconsistent_group_protocol, g.inconsistent_join_group, g.inconsistent_sync_group,
       g.inconsistent_first_at, g.inconsistent_last_at, g.inconsistent_example, t.requests_by_type,
       least(size(g.all_members), 100000) AS member_count, slice(g.all_members, 1, 20) AS members,
       s.subscriptions,
       slice(array_sort(array_distinct(flatten(
           filter(transform(s.subscriptions, one -> one.topics), topics -> topics IS NOT NULL)
       ))), 1, 100) AS topics,
       a.assignments, g.protocol_name_mismatches, g.undecoded_payloads
FROM with_kinds AS g
JOIN messages_of_groups AS m ON g.cluster = m.cluster AND g.group_id = m.group_id
JOIN types_of_groups AS t ON g.cluster = t.cluster AND g.group_id = t.group_id
JOIN subscriptions_of_groups AS s ON g.cluster = s.cluster AND g.group_id = s.group_id
JOIN assignments_of_groups AS a ON g.cluster = a.cluster AND g.group_id = a.group_id
