-- The violations of each rule, client and host, with the latest one; the last column is the number of all of them.
SELECT {key}, own_group AS group_id, violations, all_occurrences AS occurrences, all_rejected AS rejected,
       earliest AS first_at, latest AS last_at, broker, connection_id, message, example, total_violations
FROM (
  SELECT t.*, {group} AS own_group,
         count(*) OVER alike AS violations,
         CAST(sum(t.occurrences) OVER alike AS BIGINT) AS all_occurrences,
         CAST(sum(t.rejected) OVER alike AS BIGINT) AS all_rejected,
         min(t.first_at) OVER alike AS earliest, max(t.last_at) OVER alike AS latest,
         row_number() OVER ({alike} ORDER BY t.last_at DESC, t.broker, t.connection_id, t.opened_at, t.opened_seq, t.group_id) AS place,
         count(*) OVER () AS total_violations
  FROM {violations} AS t{condition}
  WINDOW alike AS ({alike})
) AS v
WHERE place = 1
ORDER BY {severity_order}, violations DESC, last_at DESC, rule, blames, {endpoint}, group_id
