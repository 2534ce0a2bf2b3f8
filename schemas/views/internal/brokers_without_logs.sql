-- Brokers of which no log was read for sure: those that fetch from every broker with a log, as nobody fetches from itself.
-- The client id has the number of the broker that fetches. A log that holds those of several brokers has them fetch at several
-- addresses, and shows nothing.
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
