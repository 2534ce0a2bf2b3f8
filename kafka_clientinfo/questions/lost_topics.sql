-- The topics that lose a producer or a consumer, or may lose one, the most losses first; for the verdicts of losses.sql.
lost AS (
  SELECT {client}, name AS topic,
         bool_or(operation = 'produce' AND breaks) AS produce_breaks,
         bool_or(operation IN ('fetch', 'commit') AND breaks) AS consume_breaks,
         bool_or(operation = 'produce' AND may_break) AS produce_may,
         bool_or(operation IN ('fetch', 'commit') AND may_break) AS consume_may
  FROM verdicts
  WHERE operation IN ('produce', 'fetch', 'commit')
  GROUP BY {client}, name
  HAVING bool_or(breaks OR may_break)
)
SELECT c.cluster, c.topic,
       count(CASE WHEN l.produce_breaks THEN c.produce_requests END) AS producers_that_break,
       count(c.produce_requests) AS producers,
       count(CASE WHEN l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END) AS consumers_that_break,
       count(coalesce(c.fetch_requests, c.commit_requests)) AS consumers,
       CAST(coalesce(sum(CASE WHEN l.produce_breaks THEN c.produce_bytes END), 0)
            + coalesce(sum(CASE WHEN l.consume_breaks THEN c.fetch_bytes END), 0) AS BIGINT) AS bytes,
       max(c.last_at) AS last_seen,
       count(CASE WHEN l.produce_may AND NOT l.produce_breaks THEN c.produce_requests END) AS producers_that_may_break,
       count(CASE WHEN l.consume_may AND NOT l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END)
           AS consumers_that_may_break
FROM ({by_client}) AS c
LEFT JOIN lost AS l ON {same_topic}
GROUP BY c.cluster, c.topic
HAVING count(CASE WHEN l.topic IS NOT NULL THEN 1 END) > 0
ORDER BY producers_that_break + consumers_that_break DESC, producers_that_may_break + consumers_that_may_break DESC,
         bytes DESC, c.cluster, c.topic
