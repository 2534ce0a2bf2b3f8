-- Connections that contradict KIP-1313 together with others: their client instance id is on two hosts, shared, renewed, or missing.
-- They stand in the lists of client_instances. Several connections of one id are one finding.
WITH listed AS (
  SELECT cluster, instance_id,
         explode(
           transform(two_hosts_connections, e -> named_struct(
             'rule', 'client_instance_id_on_two_hosts', 'broker', e.broker, 'connection_id', e.connection_id,
             'opened_at', e.opened_at, 'opened_seq', e.opened_seq, 'binds', true,
             'words', 'from ' || e.remote_host || ' while ' || e.other_host || ' is connected with it'
           ))
           || transform(shared_connections, e -> named_struct(
             'rule', 'client_instance_id_shared', 'broker', e.broker, 'connection_id', e.connection_id,
             'opened_at', e.opened_at, 'opened_seq', e.opened_seq, 'binds', true,
             'words', 'with ' || e.differs
           ))
           -- A new id is information if several processes may have had the ids.
           || transform(renewed_connections, e -> named_struct(
             'rule', 'client_instance_id_renewed', 'broker', e.broker, 'connection_id', e.connection_id,
             'opened_at', e.opened_at, 'opened_seq', e.opened_seq, 'binds', e.evidence = 'member_id',
             'words', 'after ' || array_join(transform(e.previous_ids, id -> quoted(id)), ', ') || CASE e.evidence
               WHEN 'member_id' THEN ', with the same member id'
               WHEN 'correlation_ids' THEN ', and its correlation ids go on from there; one process, or another that asked other brokers before'
               ELSE '; one process, or as many that ran one after the other' END
           ))
           -- A connection without an id is information if it may be another program's.
           || transform(connections_without_id, e -> named_struct(
             'rule', 'client_instance_id_on_some_connections', 'broker', e.broker, 'connection_id', e.connection_id,
             'opened_at', e.opened_at, 'opened_seq', e.opened_seq, 'binds', e.evidence IS NOT NULL,
             'words', 'is on other connections of its client, not on this one' || CASE
               WHEN e.evidence IS NOT NULL THEN ', with the same member id'
               ELSE '; one client, or another program under its client id' END
           ))
         ) AS entry
  FROM {client_instances}
),
-- The connection for which the rule binds, the first of several, gives the example; two connections of one id may open at one time.
found AS (
  SELECT l.entry.rule AS rule, l.cluster, l.entry.broker AS broker, l.entry.connection_id AS connection_id,
         count(*) AS occurrences, min(l.entry.opened_at) AS first_at, max(l.entry.opened_at) AS last_at,
         bool_or(l.entry.binds) AS binds,
         min_by(
           named_struct(
             'opened_at', l.entry.opened_at, 'instance_id', l.instance_id, 'words', l.entry.words, 'client_id', c.client_id,
             'principal', c.principal, 'client_software_name', c.client_software_name,
             'client_software_version', c.client_software_version, 'remote_host', c.remote_host
           ),
           named_struct(
             'is_free', NOT l.entry.binds, 'opened_at', l.entry.opened_at, 'opened_seq', l.entry.opened_seq,
             'instance_id', l.instance_id
           )
         ) AS example
  FROM listed AS l
  JOIN {connections} AS c
    ON l.cluster = c.cluster AND l.entry.broker = c.broker AND l.entry.connection_id = c.connection_id
    AND l.entry.opened_at = c.opened_at AND l.entry.opened_seq = c.opened_seq
  GROUP BY l.entry.rule, l.cluster, l.entry.broker, l.entry.connection_id
)
SELECT rule, cluster, broker, connection_id,
       CAST(NULL AS STRING) AS group_id,
       example.client_id AS client_id,
       example.principal AS principal,
       example.client_software_name AS client_software_name,
       example.client_software_version AS client_software_version,
       example.remote_host AS remote_host,
       occurrences,
       CAST(NULL AS BIGINT) AS rejected,
       CAST(NULL AS BIGINT) AS taken,
       first_at, last_at,
       -- Only JSON records hold the id, and these have the connection id on the same line.
       named_struct(
         'logged_at', example.opened_at, 'correlation_id', CAST(NULL AS INT),
         'grep', '^\[' || local_time(example.opened_at) || '\] [A-Z]+ Completed request:.*"connection":"' || grep_escaped(connection_id) || '"'
       ) AS example,
       'client instance id ' || quoted(example.instance_id) || ' ' || example.words AS message,
       binds, CAST(NULL AS STRING) AS blames
FROM found
