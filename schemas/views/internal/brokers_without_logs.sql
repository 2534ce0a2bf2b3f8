-- Brokers of which no log was read for sure. A broker fetches from all others but itself, with its number in the client id, so
-- that one that fetches from every log's broker is none of these. A log that holds those of several brokers has them fetch at
-- several addresses, and shows nothing.
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
logs AS (SELECT cluster, count(DISTINCT broker) AS logs FROM {ingested_files} AS i GROUP BY cluster)
SELECT p.cluster, p.node
FROM (SELECT cluster, explode(nodes) AS node FROM fetched) AS p JOIN logs AS f ON p.cluster = f.cluster
GROUP BY p.cluster, p.node HAVING count(*) = max(f.logs)
