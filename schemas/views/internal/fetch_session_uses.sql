-- Fetches that ask for topics which an earlier part of the log left in their fetch session, as topic_usage counts them (KIP-227).
-- A full fetch begins a session and names its topics. The incremental fetches after it name only what changes, and ask for all that the
-- session holds. A part of a log counts the topics that it names itself (topic_mentions). Here the parts of a session are put in order,
-- and as long as their epochs follow one another without a gap, the topics that one part leaves in the session are asked for by the next:
--
--     the session's parts               | fetches that name none of its topics
--     ----------------------------------|------------------------------------------------------------------------------
--     from its beginning, without a gap | count for each topic that the session holds
--     others                            | count for the topics that a part has shown it to hold, and once more without
--                                       | a topic, as the session may hold others
WITH ordered AS (
    SELECT m.cluster, m.broker, m.session, m.file_id, m.byte_offset, m.session_number,
           m.principal, m.client_id, m.connection_id, m.client_software_name, m.client_software_version, m.operation, m.day,
           m.requests, m.first_at, m.last_at, m.is_start, m.is_cut,
           row_number() OVER in_order AS part,
           lag(m.last_epoch) OVER in_order + 1 = m.first_epoch AS is_next_epoch,
           lag(m.is_over) OVER in_order AS was_over,
           lag(m.principal) OVER in_order IS NOT DISTINCT FROM m.principal
               AND lag(m.client_id) OVER in_order IS NOT DISTINCT FROM m.client_id
               AND lag(m.connection_id) OVER in_order IS NOT DISTINCT FROM m.connection_id
               AND lag(m.client_software_name) OVER in_order IS NOT DISTINCT FROM m.client_software_name
               AND lag(m.client_software_version) OVER in_order IS NOT DISTINCT FROM m.client_software_version
               AND lag(m.operation) OVER in_order IS NOT DISTINCT FROM m.operation AS is_same_client
    FROM {topic_mentions} AS m
    JOIN {ingested_files} AS f ON m.file_id = f.file_id AND f.first_logged_at IS NOT NULL
    WHERE m.kind = 'session'
    WINDOW in_order AS (
        PARTITION BY m.cluster, m.broker, m.session
        ORDER BY f.first_logged_at, f.last_logged_at, m.file_id, m.byte_offset, m.session_number
    )
),
-- Parts between which no fetch is missing have one `life`; after a gap, nothing that the session held before is known.
lives AS (
    SELECT *, sum(CASE WHEN is_start OR is_cut OR NOT coalesce(is_next_epoch AND NOT was_over AND is_same_client, false)
                       THEN 1 ELSE 0 END)
              OVER (PARTITION BY cluster, broker, session ORDER BY part) AS life
    FROM ordered
),
parts AS (
    SELECT *, bool_or(is_start) OVER one_life AS is_known, max(part) OVER one_life AS last_part
    FROM lives
    WINDOW one_life AS (PARTITION BY cluster, broker, session, life)
),
named_topics AS (
    SELECT p.cluster, p.broker, p.session, p.life, p.part, p.last_part, m.topic, m.topic_id, m.requests AS counted, m.partitions
    FROM {topic_mentions} AS m
    JOIN parts AS p ON m.file_id = p.file_id AND m.byte_offset = p.byte_offset AND m.session_number = p.session_number
    WHERE m.kind = 'session_topic'
),
-- A partition stays as a part leaves it until another part names it: part number `named_next`, which does not count the topic in its
-- first fetches (`uncounted`).
named_partitions AS (
    SELECT cluster, broker, session, part, last_part, topic, topic_id, named.is_held AS is_held,
           lead(part) OVER by_partition AS named_next,
           lead(named.uncounted) OVER by_partition AS uncounted,
           lead(named.uncounted_at) OVER by_partition AS uncounted_at
    FROM (
        SELECT cluster, broker, session, life, part, last_part, topic, topic_id, explode(partitions) AS named FROM named_topics
    ) AS n
    WINDOW by_partition AS (PARTITION BY cluster, broker, session, life, topic, topic_id, named.partition ORDER BY part)
),
-- The topics that are held, per part of the session that asks for them. DISTINCT, as most partitions of a topic are held equally long.
held_topics AS (
    SELECT cluster, broker, session, topic, topic_id, named_next, uncounted, uncounted_at,
           explode(sequence(part + 1, coalesce(named_next, last_part))) AS part
    FROM (
        SELECT DISTINCT cluster, broker, session, topic, topic_id, part, last_part, named_next, uncounted, uncounted_at
        FROM named_partitions
        WHERE is_held AND part < last_part
    ) AS held
),
uses AS (
    SELECT p.cluster, p.broker, p.principal, p.client_id, p.connection_id, p.client_software_name, p.client_software_version, p.operation,
           h.topic, h.topic_id, p.day,
           max(CASE WHEN h.named_next = p.part THEN h.uncounted ELSE p.requests - coalesce(n.counted, 0) END) AS requests,
           p.first_at, max(CASE WHEN h.named_next = p.part THEN h.uncounted_at ELSE p.last_at END) AS last_at
    FROM held_topics AS h
    JOIN parts AS p ON h.cluster = p.cluster AND h.broker = p.broker AND h.session = p.session AND h.part = p.part
    LEFT JOIN named_topics AS n ON n.cluster = h.cluster AND n.broker = h.broker AND n.session = h.session AND n.part = h.part
         AND n.topic IS NOT DISTINCT FROM h.topic AND n.topic_id IS NOT DISTINCT FROM h.topic_id
    GROUP BY p.cluster, p.broker, p.session, p.part, p.principal, p.client_id, p.connection_id, p.client_software_name, p.client_software_version,
             p.operation, p.day, p.first_at, h.topic, h.topic_id
)
SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation,
       topic, topic_id, day, requests, first_at, last_at, connection_id
FROM uses WHERE requests > 0
UNION ALL
SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation,
       NULL AS topic, NULL AS topic_id, day, requests, first_at, last_at, connection_id
FROM parts
WHERE NOT is_known AND requests > 0
