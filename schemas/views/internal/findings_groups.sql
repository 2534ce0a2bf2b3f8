-- Findings on groups: members answered with INCONSISTENT_GROUP_PROTOCOL, types that contradict each other, and protocols that nobody offered (KIP-559).
WITH inconsistent AS (
    SELECT cluster, group_id, sum(inconsistent_group_protocol) AS occurrences, sum(inconsistent_contradicted) AS contradicted,
           sum(inconsistent_unstated) AS unstated,
           -- Null in rows that an earlier release has made.
           coalesce(sum(inconsistent_without_join), 0) AS without_join, min(inconsistent_first_at) AS first_at,
           max(inconsistent_last_at) AS last_at, min(inconsistent_example) AS example, count(*) AS connections,
           -- The connection of the example.
           min(named_struct(
               'example', inconsistent_example, 'broker', broker, 'connection_id', connection_id, 'opened_at', opened_at,
               'opened_seq', opened_seq, 'client_id', client_id, 'principal', principal,
               'client_software_name', client_software_name, 'client_software_version', client_software_version,
               'remote_host', remote_host
           )) AS who
    FROM {connection_groups}
    WHERE inconsistent_group_protocol > 0
    GROUP BY cluster, group_id
),

-- Types that contradict each other. A classic group has one type as long as it has members; after it was empty it may get
-- another one. So two types contradict each other only if one is stated while a member with the other one is in the group:
--
--     a member is in the group                     | counts if the coordinator
--     ---------------------------------------------|----------------------------------------------------------------
--     between two of its messages, or until it     | gives any answer to the other type
--     leaves                                       |
--     until its session times out                  | does not accept the other type, or accepts it in the same generation
--
-- Longer silence proves nothing, and neither do members at different coordinators, because their clocks may differ.
entries AS (
    SELECT cluster, broker, group_id, explode(memberships) AS entry FROM {connection_groups}
),
compared AS (
    SELECT DISTINCT cluster, group_id
    FROM (
        SELECT cluster, broker, group_id FROM entries
        GROUP BY cluster, broker, group_id
        HAVING min(entry.protocol_type) <> max(entry.protocol_type) OR bool_or(entry.state = 'refused')
    ) AS several
),
with_leave AS (
    SELECT e.cluster, e.broker, e.group_id, e.entry,
           -- When the member left; one that joins at the time of a leave left before.
           CASE WHEN e.entry.state = 'member' THEN
               min(CASE WHEN e.entry.state = 'left' THEN unix_micros(e.entry.first_at) END) OVER (
                   PARTITION BY e.cluster, e.group_id, e.entry.member_id
                   ORDER BY e.entry.first_at DESC, CASE WHEN e.entry.state = 'left' THEN 1 ELSE 0 END
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
               )
           END AS left_at
    FROM entries AS e JOIN compared AS g ON e.cluster = g.cluster AND e.group_id = g.group_id
),
-- Begin and end of an entry in microseconds, and until when the member may have been in the group.
placed AS (
    SELECT cluster, broker, group_id, entry, entry.state, entry.protocol_type, unix_micros(entry.first_at) AS began,
           coalesce(left_at, unix_micros(entry.last_at)) AS until,
           coalesce(
               left_at,
               -- A member that states no session timeout has the consumers' default before 3.0.
               CASE WHEN entry.state = 'member'
                    THEN unix_micros(entry.last_at) + CAST(coalesce(entry.session_timeout_ms, 10000) AS BIGINT) * 1000 END,
               unix_micros(entry.last_at)
           ) AS may_last_until,
           -- An entry without a generation ends before it begins, so it overlaps no other.
           coalesce(entry.first_generation, 0) AS from_generation, coalesce(entry.last_generation, -1) AS to_generation
    FROM with_leave
),
stays AS (
    SELECT cluster, broker, group_id,
           slice(array_sort(collect_list(CASE WHEN state = 'member' THEN named_struct(
               'began', began, 'until', until, 'may_last_until', may_last_until, 'protocol_type', protocol_type,
               'from_generation', from_generation, 'to_generation', to_generation,
               'member_id', coalesce(entry.member_id, ''), 'offered', entry.offered
           ) END)), 1, 1000) AS stays
    FROM placed
    GROUP BY cluster, broker, group_id
),
-- The first stay that an entry contradicts, with the group's own type by that stay.
contradictions AS (
    SELECT p.cluster, p.group_id, p.entry, array_min(transform(
        filter(s.stays, stay -> stay.protocol_type <> p.protocol_type AND stay.member_id <> coalesce(p.entry.member_id, '?') AND (
            (stay.began < p.until AND p.began < stay.until)
            OR (stay.began < p.may_last_until AND p.began < stay.may_last_until AND (
                p.state IN ('refused', 'asked')
                OR (p.state = 'member' AND stay.from_generation <= p.to_generation
                    AND p.from_generation <= stay.to_generation)
            ))
        )),
        stay -> named_struct('at', stay.began, 'protocol_type', stay.protocol_type)
    )) AS own
    FROM placed AS p JOIN stays AS s ON p.cluster = s.cluster AND p.broker = s.broker AND p.group_id = s.group_id
    WHERE p.protocol_type IS NOT NULL
),
-- JoinGroups that are refused although no member that is known at that time has another type, or none of their names.
unexplained AS (
    SELECT DISTINCT p.cluster, p.group_id
    FROM placed AS p JOIN stays AS s ON p.cluster = s.cluster AND p.broker = s.broker AND p.group_id = s.group_id
    WHERE p.state = 'refused' AND size(p.entry.offered) > 0 AND size(filter(s.stays, stay ->
        stay.began <= p.until AND p.began <= stay.may_last_until
        AND (stay.protocol_type <> p.protocol_type
             OR (size(stay.offered) > 0 AND NOT arrays_overlap(stay.offered, p.entry.offered))))) = 0
),

-- The group's own type is that of its first member.
own_types AS (
    SELECT cluster, group_id, min_by(own.protocol_type, own) AS own_type
    FROM contradictions
    WHERE own IS NOT NULL
    GROUP BY cluster, group_id
),
mixed AS (
    SELECT c.cluster, c.group_id, o.own_type, sum(c.entry.requests) AS occurrences, sum(c.entry.rejected) AS rejected,
           sum(c.entry.taken) AS taken, min(c.entry.first_at) AS first_at, max(c.entry.last_at) AS last_at,
           min(c.entry.example) AS example, array_sort(collect_set(c.entry.protocol_type)) AS types
    FROM contradictions AS c JOIN own_types AS o ON c.cluster = o.cluster AND c.group_id = o.group_id
    WHERE c.own IS NOT NULL AND c.entry.protocol_type <> o.own_type
    GROUP BY c.cluster, c.group_id, o.own_type
),

-- Protocols that nobody offered. The coordinator of a classic group must choose its type and name from what members state
-- in JoinGroup. The response to the leader lists the members of the generation. Only if the log has a JoinGroup of each of
-- them, with all the names that it offers, it is certain that nobody offered a type or name.
answers AS (
    SELECT cluster, group_id, broker, connection_id, opened_at, opened_seq, explode(unoffered_answers) AS answer
    FROM {connection_groups}
),
offers AS (
    SELECT cluster, group_id, entry.member_id, collect_set(entry.protocol_type) AS types,
           flatten(collect_list(entry.offered)) AS names, max(size(entry.offered)) AS most_names
    FROM (
        SELECT e.cluster, e.group_id, e.entry
        FROM entries AS e
        JOIN (SELECT DISTINCT cluster, group_id FROM answers) AS a ON e.cluster = a.cluster AND e.group_id = a.group_id
    ) AS joined
    WHERE size(entry.offered) > 0
    GROUP BY cluster, group_id, entry.member_id
),
-- An answer's entry is one per connection, generation and what is wrong with it.
judged AS (
    SELECT a.cluster, a.group_id, a.answer.generation, a.answer.protocol_type, a.answer.protocol_name,
           min(a.answer.api_name) AS api_name, min(a.answer.api_version) AS api_version,
           min(a.answer.first_at) AS first_at, max(a.answer.last_at) AS last_at, min(a.answer.requests) AS requests,
           min(a.answer.example) AS example, count(*) AS members,
           bool_and(o.member_id IS NOT NULL AND o.most_names < 20) AS all_known,
           bool_or(array_contains(o.types, a.answer.protocol_type)) AS type_is_offered,
           bool_or(array_contains(o.names, a.answer.protocol_name)) AS name_is_offered
    FROM (SELECT *, explode(answer.members) AS member_id FROM answers) AS a
    LEFT JOIN offers AS o ON a.cluster = o.cluster AND a.group_id = o.group_id AND a.member_id = o.member_id
    GROUP BY a.cluster, a.group_id, a.broker, a.connection_id, a.opened_at, a.opened_seq, a.answer.generation,
             a.answer.protocol_type, a.answer.protocol_name
),
unoffered AS (
    SELECT cluster, group_id, requests, first_at, last_at, example,
           'group ' || quoted(group_id) || ': ' || api_name || ' v' || CAST(api_version AS STRING) || ' was answered with '
           || CASE WHEN NOT type_is_offered THEN 'protocol type ' || quoted(protocol_type)
                   ELSE 'protocol name ' || quoted(protocol_name) END
           || ', which none of the ' || CAST(members AS STRING) || ' members of generation '
           || coalesce(CAST(generation AS STRING), '?') || ' offered' AS message
    FROM judged
    -- A type or name that is not wrong is null, as is whether it is offered.
    WHERE all_known AND (NOT type_is_offered OR NOT name_is_offered)
),
findings AS (
    SELECT 'inconsistent_group_protocol' AS rule, i.cluster, i.group_id, occurrences, occurrences AS rejected, 0 AS taken,
           first_at, last_at, example, who,
           'group ' || quoted(i.group_id) || ' was answered with INCONSISTENT_GROUP_PROTOCOL'
           || CASE WHEN connections > 1 THEN ' on ' || CAST(connections AS STRING) || ' connections' ELSE '' END
           || CASE WHEN contradicted > 0
                   THEN ', ' || CAST(contradicted AS STRING) || ' of ' || CAST(occurrences AS STRING) || ' for what JoinGroup had answered' ELSE '' END
           || CASE WHEN unstated > 0
                   THEN ', ' || CAST(unstated AS STRING) || ' of ' || CAST(occurrences AS STRING) || ' for a SyncGroup without protocol type or name' ELSE '' END
           || CASE WHEN u.group_id IS NOT NULL THEN ', some of it though no member in the log has another protocol' ELSE '' END AS message,
           -- A coordinator that refuses what it chose itself contradicts itself. What it chose may be unknown, as may its members.
           CASE WHEN contradicted >= occurrences THEN 'broker'
                WHEN contradicted + without_join > 0 OR u.group_id IS NOT NULL THEN 'either' END AS blames
    FROM inconsistent AS i LEFT JOIN unexplained AS u ON i.cluster = u.cluster AND i.group_id = u.group_id
    UNION ALL
    SELECT 'mixed_protocol_types', cluster, group_id, occurrences, rejected, taken, first_at, last_at, example, NULL,
           'group ' || quoted(group_id) || ' has members of type '
           || array_join(transform(slice(types, 1, 5), one -> quoted(one)), ', ')
           || ' at the same time as those of ' || quoted(own_type), NULL
    FROM mixed
    UNION ALL
    SELECT 'protocol_nobody_offered', cluster, group_id, sum(requests), 0, sum(requests), min(first_at), max(last_at),
           min_by(example, named_struct('at', first_at, 'message', message, 'example', example)), NULL,
           min_by(message, named_struct('at', first_at, 'message', message)), NULL
    FROM unoffered
    GROUP BY cluster, group_id
)
SELECT rule, cluster, who.broker AS broker, who.connection_id AS connection_id, group_id, who.client_id AS client_id,
       who.principal AS principal, who.client_software_name AS client_software_name,
       who.client_software_version AS client_software_version, who.remote_host AS remote_host,
       CAST(occurrences AS BIGINT) AS occurrences, CAST(rejected AS BIGINT) AS rejected, CAST(taken AS BIGINT) AS taken,
       first_at, last_at, example, message, CAST(NULL AS BOOLEAN) AS binds, CAST(blames AS STRING) AS blames
FROM findings
