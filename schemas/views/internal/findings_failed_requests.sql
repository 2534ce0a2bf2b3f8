-- Findings on requests and logins that a broker refused, one row per rule and connection id (refusals).
WITH findings AS (
  SELECT rule, cluster, broker, connection_id, count(*) AS occurrences, min(logged_at) AS first_at, max(logged_at) AS last_at,
         min_by(
           named_struct(
             'principal', principal, 'remote_host', remote_host, 'reason', reason, 'api_name', api_name,
             'api_version', api_version, 'wrong_listener', CASE WHEN is_at_wrong_listener THEN listener END, 'although', although,
             'detail', detail
           ),
           named_struct('logged_at', logged_at, 'file_id', file_id, 'byte_offset', byte_offset)
         ) AS earliest,
         -- An id that was used again may be that of two clients.
         CASE WHEN bool_and(is_client_known) AND min(client) IS NOT DISTINCT FROM max(client) THEN min(client) END AS client
  FROM {refusals}
  GROUP BY rule, cluster, broker, connection_id
)
SELECT rule, cluster, broker, connection_id,
       CAST(NULL AS STRING) AS group_id,
       client.client_id AS client_id,
       coalesce(earliest.principal, client.principal) AS principal,
       client.client_software_name AS client_software_name,
       client.client_software_version AS client_software_version,
       earliest.remote_host AS remote_host,
       occurrences,
       CAST(NULL AS BIGINT) AS rejected,
       CAST(NULL AS BIGINT) AS taken,
       first_at, last_at,
       named_struct(
         'logged_at', first_at, 'correlation_id', CAST(NULL AS INT),
         'grep', '^\[' || local_time(first_at) || '\] (ERROR|INFO) '
       ) AS example,
       CASE WHEN earliest.reason = 'failed_authentication' THEN 'login'
         ELSE coalesce(earliest.api_name, 'a request') || coalesce(' v' || CAST(earliest.api_version AS STRING), '')
       END
         || ' from ' || coalesce(earliest.remote_host, '?')
         || coalesce(' at the listener ' || earliest.wrong_listener, '') || earliest.although
         || ': ''' || harmless(earliest.detail, 160) || '''' AS message,
       CAST(NULL AS BOOLEAN) AS binds, CAST(NULL AS STRING) AS blames
FROM findings
