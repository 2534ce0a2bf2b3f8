-- Brokers of which no log was read for sure: those that fetch from every broker with a log, as nobody fetches from itself.
-- The client id has the number of the broker that fetches. A log that holds those of several brokers has them fetch at several
-- addresses, and shows nothing. Where none is known so, as without replicas, the answers to Metadata of the last day may list more
-- brokers than there are logs: which of them lack one is not known then.
WITH fetching AS (
    SELECT cluster, broker, regexp_extract(client_id, '^broker-([0-9]+)-fetcher-[0-9]+$', 1) AS node,
           regexp_extract(connection_id, '^([0-9a-fA-F.:]+:[0-9]+)-', 1) AS address
    FROM {connections} AS c WHERE role = 'broker'
),
fetched AS (
    SELECT cluster, broker, collect_set(node) AS nodes
    FROM fetching WHERE node <> '' GROUP BY cluster, broker
    HAVING count(DISTINCT address) = 1 AND min(address) <> ''
),
logs AS (SELECT cluster, count(DISTINCT broker) AS logs FROM {ingested_files} AS i GROUP BY cluster),
lacking AS (
    SELECT p.cluster, p.node
    FROM (SELECT cluster, explode(nodes) AS node FROM fetched) AS p JOIN logs AS f ON p.cluster = f.cluster
    GROUP BY p.cluster, p.node HAVING count(*) = max(f.logs)
),
listed AS (
    SELECT m.cluster, array_sort(collect_set(m.topic)) AS nodes
    FROM {topic_mentions} AS m
    JOIN (SELECT cluster, max(last_at) AS last_at FROM {topic_mentions} AS t WHERE kind = 'broker' GROUP BY cluster) AS n
      ON n.cluster = m.cluster
    WHERE m.kind = 'broker' AND unix_micros(m.last_at) > unix_micros(n.last_at) - 86400000000
    GROUP BY m.cluster
)
SELECT cluster, concat('broker ', node) AS broker FROM lacking
UNION ALL
SELECT l.cluster, concat(size(l.nodes) - f.logs, ' of the brokers ', array_join(slice(l.nodes, 1, 20), ', '))
FROM listed AS l JOIN logs AS f ON f.cluster = l.cluster
LEFT JOIN (SELECT DISTINCT cluster FROM lacking) AS w ON w.cluster = l.cluster
WHERE size(l.nodes) > f.logs AND w.cluster IS NULL
