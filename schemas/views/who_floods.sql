-- Who floods the brokers: per client and API the requests, the most in one bucket of time, the median of the buckets that have any, and the connections that the client opened in all and the most in one bucket (these are the same in all rows of a client). Without brokers' own requests.
SELECT cluster, principal, client_id, api_name, requests, buckets, most_in_a_bucket, median_of_buckets, busiest_bucket,
       connections_opened, most_opened_in_a_bucket
FROM (
    SELECT cluster, principal, client_id, api_name, requests, buckets, most_in_a_bucket, median_of_buckets, busiest_bucket,
           max(opened) OVER (PARTITION BY cluster, principal, client_id) AS connections_opened,
           max(most_opened) OVER (PARTITION BY cluster, principal, client_id) AS most_opened_in_a_bucket,
           count(api_name) OVER (PARTITION BY cluster, principal, client_id) AS apis
    FROM (
        SELECT cluster, principal, client_id, api_name, CAST(sum(requests) AS BIGINT) AS requests, max(buckets) AS buckets,
               max(requests) AS most_in_a_bucket,
               min(CASE WHEN number * 2 >= buckets THEN requests END) AS median_of_buckets,
               max(CASE WHEN number = buckets THEN bucket END) AS busiest_bucket,
               CAST(sum(opened) AS BIGINT) AS opened, max(opened) AS most_opened
        FROM (
            SELECT cluster, principal, client_id, api_name, bucket, requests, opened,
                   count(*) OVER (PARTITION BY cluster, principal, client_id, api_name) AS buckets,
                   row_number() OVER (PARTITION BY cluster, principal, client_id, api_name
                                      ORDER BY requests, bucket DESC) AS number
            FROM (
                SELECT cluster, principal, client_id, api_name, bucket, CAST(sum(requests) AS BIGINT) AS requests,
                       CAST(sum(connections_opened) AS BIGINT) AS opened
                FROM {client_activity} AS o
                WHERE NOT EXISTS (
                    SELECT 1 FROM {names_of_brokers} AS b
                    WHERE b.cluster = o.cluster AND b.principal IS NOT DISTINCT FROM o.principal AND b.client_id IS NOT DISTINCT FROM o.client_id
                )
                GROUP BY cluster, principal, client_id, api_name, bucket
            ) AS b
        ) AS n
        GROUP BY cluster, principal, client_id, api_name
    ) AS a
) AS c
WHERE api_name IS NOT NULL OR apis = 0
ORDER BY most_in_a_bucket DESC, cluster, principal, client_id, api_name
