-- Per id of a client instance: one process across its connections, brokers and time (KIP-1313 header ids, KIP-714 telemetry ids, member ids of the newer group protocols).
-- The same 128 bits are one instance in any encoding. Different ids are never merged: a client that follows no convention has one
-- row per id, and other_ids refers from one to the others. By KIP-1313, an id is unique and stays the same for a client's life.
WITH sent AS (
  SELECT c.*, s.source,
         explode(CASE s.source WHEN 'header' THEN array_repeat(client_instance_id, 1)
                               WHEN 'later header' THEN other_instance_ids
                               WHEN 'telemetry request' THEN array_repeat(telemetry_request_id, 1)
                               WHEN 'telemetry response' THEN array_repeat(telemetry_response_id, 1)
                               ELSE member_ids END) AS sent_id
  FROM {connections} AS c
  CROSS JOIN (VALUES ('header'), ('later header'), ('telemetry request'), ('telemetry response'), ('member')) AS s(source)
  WHERE c.role = 'client'
),
-- Kafka writes an id in base64url without padding; clients write base64 or hex too. 22 characters of base64 hold 132 bits: if the
-- last four bits are not zero, the text only looks like an id. Other texts stay as they are.
identified AS (
  SELECT *,
         CASE WHEN regexp_like(sent_id, '\A' || repeat('[A-Za-z0-9_-]', 21) || '[AQgw]\z') THEN sent_id
              WHEN regexp_like(sent_id, '\A' || repeat('[A-Za-z0-9+/_-]', 21) || '[AQgw][= ]*\z')
              THEN translate(substring(sent_id, 1, 22), '+/', '-_')
              WHEN regexp_like(sent_id, '\A' || repeat('[0-9a-fA-F]', 8) || repeat('-?' || repeat('[0-9a-fA-F]', 4), 3)
                                        || '-?' || repeat('[0-9a-fA-F]', 12) || '\z')
              THEN substring(translate(base64(unhex(replace(sent_id, '-', ''))), '+/', '-_'), 1, 22)
              ELSE sent_id END AS instance_id
  FROM sent
  WHERE sent_id <> ''
),
ids_of_connections AS (
  SELECT cluster, broker, connection_id, opened_at, opened_seq, instance_id,
         any_value(last_request_at) AS last_request_at, any_value(requests) AS requests, any_value(remote_host) AS remote_host,
         any_value(principal) AS principal, any_value(client_id) AS client_id,
         any_value(concat_ws(' ', client_software_name, client_software_version)) AS software,
         any_value(member_ids) AS member_ids, any_value(member_id_alignment) AS member_id_alignment,
         any_value(instance_id_different) AS instance_id_different, any_value(telemetry_scenario) AS telemetry_scenario,
         any_value(telemetry_id_sent_first) AS telemetry_id_sent_first,
         any_value(lowest_correlation_id) AS lowest_correlation_id, any_value(highest_correlation_id) AS highest_correlation_id,
         bool_or(sent_id = instance_id) AS as_kafka_writes,
         collect_list(CASE WHEN sent_id <> instance_id THEN sent_id END) AS other_encodings,
         bool_or(source = 'header') AS is_header,
         bool_or(source IN ('header', 'later header')) AS in_header,
         bool_or(source = 'telemetry request') AS in_request,
         bool_or(source = 'telemetry response') AS in_response,
         bool_or(source = 'member') AS is_member
  FROM identified
  GROUP BY cluster, broker, connection_id, opened_at, opened_seq, instance_id
),
-- One row per connection and id, with the connection's place in time. None of its fields is null.
carried AS (
  SELECT *,
         named_struct(
           'opened_at', opened_at, 'last_request_at', last_request_at, 'broker', broker, 'connection_id', connection_id,
           'opened_seq', opened_seq
         ) AS place
  FROM ids_of_connections
),
instances AS (
  SELECT cluster, instance_id,
         bool_or(in_header) AS in_header,
         bool_or(is_member) AS is_member,
         bool_or(in_request OR in_response) AS in_telemetry,
         bool_or(as_kafka_writes) AS as_kafka_writes,
         array_distinct(flatten(collect_list(CASE WHEN size(other_encodings) > 0 THEN other_encodings END))) AS other_encodings,
         min(opened_at) AS first_seen,
         max(last_request_at) AS last_seen,
         count(*) AS connections,
         sum(requests) AS requests,
         slice(array_sort(collect_set(broker)), 1, 20) AS brokers,
         count(DISTINCT remote_host) AS host_count,
         slice(array_sort(collect_set(remote_host)), 1, 20) AS hosts,
         slice(array_sort(collect_set(principal)), 1, 20) AS principals,
         slice(array_sort(collect_set(client_id)), 1, 20) AS client_ids,
         slice(array_sort(collect_set(software)), 1, 20) AS software,
         sum(CASE WHEN instance_id_different > 0 AND connection_id NOT LIKE {masked_ids} THEN 1 ELSE 0 END) AS changed_on_connections,
         CASE WHEN bool_or(member_id_alignment = 'aligned') THEN 'aligned'
              WHEN bool_or(member_id_alignment = 'same_uuid_other_encoding') THEN 'same_uuid_other_encoding'
              WHEN bool_or(member_id_alignment = 'different') THEN 'different'
              ELSE 'none' END AS member_id_alignment,
         CASE WHEN bool_or(in_header AND telemetry_scenario = 'UUID-H') THEN 'UUID-H'
              -- Brokers also return the id that a client sent, where KIP-714 wants zero: only in UUID-B they assigned it.
              WHEN bool_or(in_response AND telemetry_scenario = 'UUID-B') THEN 'UUID-B'
              WHEN bool_or(in_request) THEN 'UUID-R' END AS telemetry_scenario,
         min(client_id) <> max(client_id) OR min(principal) <> max(principal) OR min(software) <> max(software) AS may_be_shared
  FROM carried
  GROUP BY cluster, instance_id
),
-- The ids on connections with several ids.
beside AS (
  SELECT cluster, ids, explode(ids) AS instance_id
  FROM (
    SELECT cluster, collect_list(instance_id) AS ids
    FROM carried
    GROUP BY cluster, broker, connection_id, opened_at, opened_seq
    HAVING count(*) > 1
  ) AS c
),
others AS (
  SELECT cluster, instance_id, array_distinct(flatten(collect_list(ids))) AS ids FROM beside GROUP BY cluster, instance_id
),

-- Connections that open with an id while another host is connected with it. It is enough to compare with the earlier connection
-- that stays open longest: any overlap that it hides was found earlier.
on_several_hosts AS (
  SELECT c.*,
         max(CASE WHEN c.remote_host IS NOT NULL
                  THEN named_struct('last_request_at', c.last_request_at, 'remote_host', c.remote_host) END) OVER (
           PARTITION BY c.cluster, c.instance_id ORDER BY c.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
         ) AS longest
  FROM carried AS c
  JOIN instances AS i ON c.cluster = i.cluster AND c.instance_id = i.instance_id
  WHERE i.host_count > 1 AND c.connection_id NOT LIKE {masked_ids}
),
two_hosts AS (
  SELECT cluster, instance_id,
         -- A member id alone is no client instance id.
         slice(array_sort(collect_list(CASE WHEN in_header OR in_request OR in_response THEN named_struct(
           'opened_at', opened_at, 'broker', broker, 'connection_id', connection_id, 'opened_seq', opened_seq,
           'remote_host', remote_host, 'other_host', longest.remote_host
         ) END)), 1, 20) AS two_hosts_connections
  FROM on_several_hosts
  WHERE longest.last_request_at >= opened_at AND longest.remote_host <> remote_host
  GROUP BY cluster, instance_id
),

-- Connections on which an id belongs to another client than on the first ones. An empty client id is no difference, because
-- clients may leave it out (KIP-1313), and neither is unknown software.
first_clients AS (
  SELECT c.cluster, c.instance_id,
         min_by(c.client_id, c.place) FILTER (WHERE c.client_id <> '') AS client_id,
         min_by(c.principal, c.place) FILTER (WHERE c.principal IS NOT NULL) AS principal,
         min_by(c.software, c.place) FILTER (WHERE c.software <> 'unknown unknown') AS software
  FROM carried AS c
  JOIN instances AS i ON c.cluster = i.cluster AND c.instance_id = i.instance_id
  WHERE i.may_be_shared
  GROUP BY c.cluster, c.instance_id
),
differing AS (
  SELECT c.cluster, c.instance_id, c.opened_at, c.broker, c.connection_id, c.opened_seq,
         concat_ws(
           ', ',
           CASE WHEN c.client_id <> '' AND c.client_id <> f.client_id
                THEN 'client id ' || quoted(c.client_id) || ' after ' || quoted(f.client_id) END,
           CASE WHEN c.principal <> f.principal
                THEN 'principal ' || quoted(c.principal) || ' after ' || quoted(f.principal) END,
           CASE WHEN c.software <> 'unknown unknown' AND c.software <> f.software
                THEN 'software ' || quoted(c.software) || ' after ' || quoted(f.software) END
         ) AS differs
  FROM carried AS c
  JOIN first_clients AS f ON c.cluster = f.cluster AND c.instance_id = f.instance_id
  WHERE c.in_header OR c.in_request OR c.in_response
),
shared AS (
  SELECT cluster, instance_id,
         slice(array_sort(collect_list(named_struct(
           'opened_at', opened_at, 'broker', broker, 'connection_id', connection_id, 'opened_seq', opened_seq, 'differs', differs
         ))), 1, 20) AS shared_connections
  FROM differing
  WHERE differs <> ''
  GROUP BY cluster, instance_id
),

-- The lives of ids in request headers that only one client uses: the time between the first and the last connection with an id.
-- Connections with unknown software may be of the same client.
lives AS (
  SELECT cluster, instance_id,
         min(coalesce(principal, '')) AS principal,
         min(coalesce(remote_host, '')) AS remote_host,
         min(coalesce(client_id, '')) AS client_id,
         coalesce(min(CASE WHEN software NOT LIKE 'unknown %' THEN software END), min(software)) AS software,
         min(place) AS began,
         max(last_request_at) AS last_at,
         count(*) AS connections,
         min(lowest_correlation_id) AS lowest,
         max(highest_correlation_id) AS highest,
         slice(array_sort(array_distinct(flatten(collect_list(CASE WHEN size(member_ids) > 0 THEN member_ids END)))), 1, 20) AS member_ids
  FROM carried
  WHERE is_header AND connection_id NOT LIKE {masked_ids}
  GROUP BY cluster, instance_id
  HAVING min(coalesce(principal, '')) = max(coalesce(principal, ''))
     AND min(coalesce(remote_host, '')) = max(coalesce(remote_host, ''))
     AND min(coalesce(client_id, '')) = max(coalesce(client_id, ''))
     AND min(CASE WHEN software NOT LIKE 'unknown %' THEN software END)
         IS NOT DISTINCT FROM max(CASE WHEN software NOT LIKE 'unknown %' THEN software END)
),

-- Ids that replace other ids of the same client. Different ids are often legitimate: a program that is started again gets a new one,
-- and so does each of several programs with the same client id. What speaks for one process, and only the first for sure:
--
--   evidence        | why
--   ----------------|----------------------------------------------------------------------------------------------
--   member_id       | a member of a group keeps its member id
--   correlation_ids | a client that counts correlation ids over all its connections goes on counting: the next id is up to
--                   | 8 higher after at least 100, within 10 minutes. It may be another run of a tool, which has asked brokers
--                   | first that the logs lack
--   sequence        | three lives follow one another within a minute each, as several runs of a tool do
lives_in_time AS (
  SELECT *,
         began.opened_at >= last.last_at AS is_after,
         floor(unix_micros(began.opened_at) / 1000000) - floor(unix_micros(last.last_at) / 1000000) AS pause,
         floor(unix_micros(last.opened_at) / 1000000) - floor(unix_micros(second_last.last_at) / 1000000) AS pause_before,
         lowest - last.highest AS step
  FROM (
    SELECT cluster, instance_id, began, connections, lowest, member_ids,
           lag(life, 1) OVER (PARTITION BY cluster, principal, remote_host, client_id, software ORDER BY began) AS last,
           lag(life, 2) OVER (PARTITION BY cluster, principal, remote_host, client_id, software ORDER BY began) AS second_last
    FROM (
      SELECT *,
             named_struct(
               'instance_id', instance_id, 'broker', began.broker, 'opened_at', began.opened_at, 'last_at', last_at,
               'connections', connections, 'highest', CAST(highest AS BIGINT), 'member_ids', member_ids
             ) AS life
      FROM lives
    ) AS l
  ) AS l
),
judged_lives AS (
  SELECT *,
         CASE WHEN arrays_overlap(member_ids, last.member_ids) THEN 'member_id'
              WHEN is_after AND pause <= 600
                   AND step BETWEEN 1 AND 8 AND last.highest >= 100
              THEN 'correlation_ids'
              -- A life may follow another one if it begins after it, or if each has one connection, to different brokers. Other
              -- lives that overlap in time belong to several processes.
              WHEN pause <= 60 AND pause_before <= 60
                   AND (is_after OR (connections = 1 AND last.connections = 1 AND began.broker <> last.broker))
                   AND (began.opened_at >= second_last.last_at
                        OR (connections = 1 AND second_last.connections = 1 AND began.broker <> second_last.broker))
              THEN 'sequence' END AS evidence
  FROM lives_in_time
),
renewed AS (
  SELECT cluster, instance_id,
         array_repeat(named_struct(
           'opened_at', began.opened_at, 'broker', began.broker, 'connection_id', began.connection_id,
           'opened_seq', began.opened_seq,
           'previous_ids', CASE WHEN evidence = 'sequence'
                                THEN array_append(array_repeat(second_last.instance_id, 1), last.instance_id)
                                ELSE array_repeat(last.instance_id, 1) END,
           'evidence', evidence
         ), 1) AS renewed_connections
  FROM judged_lives
  WHERE evidence IS NOT NULL
),

-- Connections without an id of clients that have one on another connection. A connection with ApiVersions only asks for versions,
-- and SaslHandshake has no version that could carry an id.
lacking AS (
  SELECT c.cluster, c.broker, c.connection_id, c.opened_at, c.opened_seq, c.last_request_at, c.member_ids,
         l.principal, l.remote_host, l.client_id, l.software
  FROM {connections} AS c
  JOIN (SELECT DISTINCT cluster, principal, remote_host, client_id, software FROM lives) AS l
    ON c.cluster = l.cluster AND coalesce(c.principal, '') = l.principal AND coalesce(c.remote_host, '') = l.remote_host
    AND coalesce(c.client_id, '') = l.client_id
    AND concat_ws(' ', c.client_software_name, c.client_software_version) = l.software
  WHERE c.role = 'client' AND c.connection_id NOT LIKE {masked_ids} AND c.header_v3_requests = 0 AND c.requests > size(c.api_versions_attempts)
),
-- Of several lives that had begun when such a connection opened, the one that ends last.
with_life AS (
  SELECT *,
         max(life) OVER (
           PARTITION BY cluster, principal, remote_host, client_id, software ORDER BY opened_at, lacks_id
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
         ) AS longest
  FROM (
    SELECT *, 1 AS lacks_id, NULL AS life FROM lacking
    UNION ALL
    SELECT cluster, NULL, NULL, began.opened_at, NULL, NULL, NULL, principal, remote_host, client_id, software, 0,
           named_struct('last_at', last_at, 'instance_id', instance_id)
    FROM lives
  ) AS l
),
-- The broker must have taken header v3 on a connection that was open at that time: it may have been upgraded later, or downgraded.
at_broker AS (
  SELECT *,
         max(v3_until) OVER (
           PARTITION BY cluster, broker ORDER BY opened_at, last_request_at, connection_id, opened_seq
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
         ) AS takes_v3_until
  FROM (
    SELECT cluster, broker, connection_id, opened_at, opened_seq, last_request_at, NULL AS v3_until, member_ids,
           longest.instance_id
    FROM with_life
    WHERE lacks_id = 1 AND longest.last_at >= opened_at
    UNION ALL
    SELECT cluster, broker, connection_id, opened_at, opened_seq, last_request_at, last_request_at, NULL, NULL
    FROM {connections}
    WHERE role = 'client' AND header_v3_requests > 0
  ) AS c
),
without_id AS (
  SELECT b.cluster, b.instance_id,
         slice(array_sort(collect_list(named_struct(
           'opened_at', b.opened_at, 'broker', b.broker, 'connection_id', b.connection_id, 'opened_seq', b.opened_seq,
           'evidence', CASE WHEN arrays_overlap(b.member_ids, l.member_ids) THEN 'member_id' END
         ))), 1, 20) AS connections_without_id
  FROM at_broker AS b
  JOIN lives AS l ON b.cluster = l.cluster AND b.instance_id = l.instance_id
  WHERE b.takes_v3_until >= b.opened_at
  GROUP BY b.cluster, b.instance_id
),

-- An id in a telemetry request is certainly made by the client only if no broker can have assigned it. A broker could have done so
-- on a connection that no log shows, so the id's first connection must be the first known of that client, at a time for which the
-- logs of all brokers hold every request. Java's clients of 3.7 to 4.4 never make their own.
made_by_clients AS (
  SELECT cluster, instance_id, first.opened_at, first.remote_host, first.principal, first.client_id
  FROM (
    SELECT c.cluster, c.instance_id,
           -- A client that counts correlation ids over all its connections has asked no broker before the first ones.
           min_by(named_struct(
             'opened_at', c.opened_at, 'remote_host', coalesce(c.remote_host, ''), 'principal', coalesce(c.principal, ''),
             'client_id', coalesce(c.client_id, ''), 'is_new', c.in_request AND c.telemetry_id_sent_first AND c.lowest_correlation_id = 0
               AND c.software LIKE 'apache-kafka-java %'
               AND NOT regexp_like(c.software, '^apache-kafka-java (3[.][789]|4[.][0-4])')
           ), c.place) AS first
    FROM carried AS c
    JOIN instances AS i ON c.cluster = i.cluster AND c.instance_id = i.instance_id
    WHERE i.telemetry_scenario = 'UUID-R'
    GROUP BY c.cluster, c.instance_id
  ) AS c
  WHERE first.is_new
),
first_connections AS (
  SELECT m.cluster, m.remote_host, m.principal, m.client_id, min(c.opened_at) AS opened_at
  FROM {connections} AS c
  JOIN (SELECT DISTINCT cluster, remote_host, principal, client_id FROM made_by_clients) AS m
    ON c.cluster = m.cluster AND coalesce(c.remote_host, '') = m.remote_host AND coalesce(c.principal, '') = m.principal
    AND coalesce(c.client_id, '') = m.client_id
  WHERE c.role = 'client'
  GROUP BY m.cluster, m.remote_host, m.principal, m.client_id
),
unseen AS (
  SELECT DISTINCT m.cluster, m.instance_id
  FROM made_by_clients AS m
  JOIN {log_coverage} AS l ON m.cluster = l.cluster
  WHERE NOT coalesce(m.opened_at >= l.covered_from AND m.opened_at <= l.covered_until, false)
),
certain AS (
  SELECT m.cluster, m.instance_id
  FROM made_by_clients AS m
  JOIN first_connections AS f
    ON m.cluster = f.cluster AND m.remote_host = f.remote_host AND m.principal = f.principal AND m.client_id = f.client_id
    AND m.opened_at = f.opened_at
  LEFT JOIN unseen AS u ON m.cluster = u.cluster AND m.instance_id = u.instance_id
  WHERE u.cluster IS NULL
),
judged AS (
  SELECT i.*,
         i.telemetry_scenario <> 'UUID-R' OR i.in_header OR certain.instance_id IS NOT NULL AS scenario_certain,
         others.ids AS ids,
         two_hosts.instance_id IS NOT NULL AS two_hosts_at_once,
         two_hosts.two_hosts_connections, shared.shared_connections, renewed.renewed_connections, without_id.connections_without_id
  FROM instances AS i
  LEFT JOIN certain ON i.cluster = certain.cluster AND i.instance_id = certain.instance_id
  LEFT JOIN others ON i.cluster = others.cluster AND i.instance_id = others.instance_id
  LEFT JOIN two_hosts ON i.cluster = two_hosts.cluster AND i.instance_id = two_hosts.instance_id
  LEFT JOIN shared ON i.cluster = shared.cluster AND i.instance_id = shared.instance_id
  LEFT JOIN renewed ON i.cluster = renewed.cluster AND i.instance_id = renewed.instance_id
  LEFT JOIN without_id ON i.cluster = without_id.cluster AND i.instance_id = without_id.instance_id
)
SELECT cluster, instance_id,
       split(concat_ws(
         ',', CASE WHEN in_header THEN 'header' END, CASE WHEN is_member THEN 'member' END,
         CASE WHEN in_telemetry THEN 'telemetry' END
       ), ',') AS id_kinds,
       slice(array_sort(
         CASE WHEN as_kafka_writes THEN array_append(other_encodings, instance_id) ELSE other_encodings END
       ), 1, 20) AS encodings,
       first_seen, last_seen, connections, requests, brokers, host_count, hosts, two_hosts_at_once,
       coalesce(two_hosts_connections, array_repeat(NULL, 0)) AS two_hosts_connections,
       coalesce(shared_connections, array_repeat(NULL, 0)) AS shared_connections,
       coalesce(renewed_connections, array_repeat(NULL, 0)) AS renewed_connections,
       coalesce(connections_without_id, array_repeat(NULL, 0)) AS connections_without_id,
       principals, client_ids, software, changed_on_connections, member_id_alignment,
       coalesce(slice(array_sort(filter(ids, id -> id <> instance_id)), 1, 20), array_repeat(NULL, 0)) AS other_ids,
       telemetry_scenario,
       CASE WHEN telemetry_scenario IS NOT NULL THEN scenario_certain END AS scenario_certain,
       CASE WHEN NOT scenario_certain THEN 'either'
            WHEN telemetry_scenario = 'UUID-B' THEN 'old'
            WHEN telemetry_scenario IS NOT NULL THEN 'new' END AS client_by_kip,
       CASE WHEN NOT scenario_certain OR telemetry_scenario = 'UUID-B' THEN 'either'
            WHEN telemetry_scenario = 'UUID-R' THEN 'old'
            WHEN telemetry_scenario = 'UUID-H' THEN 'new' END AS broker_by_kip
FROM judged
