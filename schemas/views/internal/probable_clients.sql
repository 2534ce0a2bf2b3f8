-- Which library the connections of a client agree on, by how they behave or what they state, on each day.
-- A client is a client id and a principal on one host. A client without an id is nobody's in particular, so it has no row.
-- Neither has a client of which no connection shows its library by how it behaves, or of which one shows or states another
-- library, or behaves as other libraries only. The span holds the releases of those that show it.
SELECT cluster, principal, client_id, remote_host, day, probable_software_name, first_release, last_release
FROM (
    SELECT cluster, principal, client_id, remote_host, timestamp_micros(day_no * 86400000000) AS day,
           max(shown) AS probable_software_name, collect_set(others) AS others,
           min(first_release) AS first_release, max(last_release) AS last_release
    FROM (
        SELECT cluster, principal, client_id, remote_host, CAST(floor(unix_micros(opened_at) / 864e8) AS BIGINT) AS day_no,
               probable_software_name AS shown,
               transform(split(replace(probable_versions_from, '.', ' '), ' '), n -> try_cast(n AS INT)) AS first_release,
               transform(split(replace(probable_versions_to, '.', ' '), ' '), n -> try_cast(n AS INT)) AS last_release,
               -- Bindings state names of their own for the library that speaks for them.
               CASE WHEN client_software_name <> 'unknown' THEN coalesce(b.library, client_software_name) END AS stated,
               CASE WHEN size(candidate_software) > 0 THEN transform(candidate_software, one -> one.software_name) END AS others
        FROM {connections}
        LEFT JOIN {bindings} AS b ON left(client_software_name, length(b.name_start)) = b.name_start
        WHERE role = 'client' AND client_id <> ''
    ) AS c
    GROUP BY cluster, principal, client_id, remote_host, day_no
    HAVING max(shown) IS NOT NULL AND min(coalesce(shown, stated)) = max(coalesce(shown, stated))
) AS p
WHERE size(filter(others, fitting -> NOT array_contains(fitting, probable_software_name))) = 0
