-- Who uses which topic: per client, operation, topic and day the requests that name the topic, or ask for it because their fetch session holds it (KIP-227). Forwarded copies of requests and records logged twice are not counted.
WITH all_uses AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day,
           requests, bytes, errors, groups, more_topics, first_at, last_at, connection_id
    FROM {topic_mentions} WHERE kind = 'use'
    UNION ALL
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day,
           requests, NULL, NULL, NULL, NULL, first_at, last_at, connection_id
    FROM {fetch_session_uses}
),
-- Requests that state no client id count for the one that their connection has stated (KIP-1313).
with_ids AS (
    SELECT u.*, array_distinct(transform(
               filter(s.stated, c -> floor(c.opened / 864e8) <= floor(unix_micros(u.first_at) / 864e8)
                                     AND floor(c.last_request / 864e8) >= floor(unix_micros(u.first_at) / 864e8)),
               c -> c.client_id
           )) AS ids
    FROM all_uses AS u
    LEFT JOIN {stated_client_ids} AS s ON s.cluster = u.cluster AND s.broker = u.broker AND s.connection_id = u.connection_id
),
-- A topic id has the name that any record of the cluster shows, whenever it was logged.
names AS (
    SELECT cluster, topic_id, max(topic) AS topic
    FROM {topic_mentions} WHERE topic IS NOT NULL AND topic_id IS NOT NULL
    GROUP BY cluster, topic_id
),
uses AS (
    SELECT u.cluster, u.broker, u.principal,
           coalesce(CASE WHEN size(u.ids) = 1 THEN nullif(get(u.ids, 0), '') END, u.client_id) AS client_id,
           u.client_software_name, u.client_software_version, u.operation,
           -- This id is that of the metadata log in every cluster (KIP-516).
           coalesce(u.topic, n.topic, CASE WHEN u.topic_id = 'AAAAAAAAAAAAAAAAAAAAAQ' THEN '__cluster_metadata' END) AS topic,
           u.topic_id, u.day,
           u.requests, u.bytes, u.errors, u.groups, u.more_topics, u.first_at, u.last_at
    FROM with_ids AS u
    LEFT JOIN names AS n ON n.cluster = u.cluster AND n.topic_id = u.topic_id
),
usage AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day,
           sum(requests) AS requests, sum(bytes) AS bytes, count(errors) AS parts_with_response,
           slice(array_sort(array_distinct(flatten(collect_list(groups)))), 1, 1000) AS groups,
           max(more_topics) AS more_topics, min(first_at) AS first_at, max(last_at) AS last_at
    FROM uses
    GROUP BY cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day
),
-- The maps of errors are added up code by code.
error_numbers AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day,
           error.key AS code, CAST(sum(error.value) AS BIGINT) AS number
    FROM (SELECT *, explode(map_entries(errors)) AS error FROM uses) AS u
    GROUP BY ALL
),
errors AS (
    SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, operation, topic, topic_id, day,
           map_from_entries(array_sort(collect_list(named_struct('key', code, 'value', number)))) AS errors
    FROM error_numbers
    GROUP BY ALL
)
SELECT u.cluster, u.broker, u.principal, u.client_id, u.client_software_name, u.client_software_version, u.operation,
       u.topic, u.topic_id, u.day, u.requests, u.bytes,
       CASE WHEN u.parts_with_response > 0 THEN coalesce(e.errors, map()) END AS errors,
       u.groups, u.more_topics, u.first_at, u.last_at
FROM usage AS u
LEFT JOIN errors AS e
  ON e.cluster = u.cluster AND e.broker = u.broker AND e.principal IS NOT DISTINCT FROM u.principal
     AND e.client_id IS NOT DISTINCT FROM u.client_id AND e.client_software_name IS NOT DISTINCT FROM u.client_software_name
     AND e.client_software_version IS NOT DISTINCT FROM u.client_software_version AND e.operation = u.operation
     AND e.topic IS NOT DISTINCT FROM u.topic AND e.topic_id IS NOT DISTINCT FROM u.topic_id AND e.day = u.day
