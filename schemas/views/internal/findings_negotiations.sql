-- Connections without ApiVersions although the ranges differ from those that their client learnt earlier (rule versions_learnt_elsewhere).
-- Several connections of one id are one finding.
WITH reused AS (
  SELECT cluster, client_id, principal, remote_host, explode(reused) AS entry FROM {client_negotiations}
),
outdated AS (
  SELECT cluster, entry.broker AS broker, entry.connection_id AS connection_id, count(*) AS occurrences,
         min(entry.opened_at) AS first_at, max(entry.opened_at) AS last_at,
         min_by(
           named_struct(
             'client_id', client_id, 'principal', principal, 'remote_host', remote_host, 'learnt_from', entry.learnt_from,
             'change', get(entry.changed, 0)
           ),
           named_struct('opened_at', entry.opened_at, 'opened_seq', entry.opened_seq)
         ) AS earliest
  FROM reused
  WHERE size(entry.changed) > 0
  GROUP BY cluster, entry.broker, entry.connection_id
)
SELECT 'versions_learnt_elsewhere' AS rule,
       cluster, broker, connection_id,
       CAST(NULL AS STRING) AS group_id,
       earliest.client_id AS client_id,
       earliest.principal AS principal,
       'unknown' AS client_software_name,
       'unknown' AS client_software_version,
       earliest.remote_host AS remote_host,
       occurrences,
       CAST(NULL AS BIGINT) AS rejected,
       CAST(NULL AS BIGINT) AS taken,
       first_at, last_at,
       named_struct(
         'logged_at', first_at, 'correlation_id', CAST(NULL AS INT), 'grep', '^\[' || local_time(first_at)
       ) AS example,
       earliest.change.api_name || ' v' || CAST(earliest.change.api_version AS STRING)
         || ' without ApiVersions, where v' || CAST(earliest.change.advertised.low AS STRING)
         || ' to v' || CAST(earliest.change.advertised.high AS STRING)
         || ' is offered; earlier, broker ' || earliest.learnt_from
         || ' offered v' || CAST(earliest.change.learnt.low AS STRING) || ' to v' || CAST(earliest.change.learnt.high AS STRING)
         || ' to this client id, principal and host, which two programs may share' AS message,
       CAST(NULL AS BOOLEAN) AS binds, CAST(NULL AS STRING) AS blames
FROM outdated
