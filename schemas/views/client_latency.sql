-- How long the requests of each client took: client_activity with a row per bound in milliseconds and the number of requests that took at most that, and more than 1/1.8 of it (up to 1,000,000 ms).
SELECT cluster, broker, principal, client_id, client_software_name, client_software_version, listener, api_name, bucket,
       up_to_ms, requests
FROM (
    SELECT a.cluster, a.broker, a.principal, a.client_id, a.client_software_name, a.client_software_version, a.listener,
           a.api_name, a.bucket,
           CASE WHEN CAST(f.bound AS DOUBLE) < a.total_time_ms_max THEN CAST(f.bound AS DOUBLE)
                ELSE a.total_time_ms_max END AS up_to_ms,
           CASE f.field
               WHEN 'up_to_0_1' THEN a.latency.up_to_0_1
               WHEN 'up_to_0_18' THEN a.latency.up_to_0_18
               WHEN 'up_to_0_32' THEN a.latency.up_to_0_32
               WHEN 'up_to_0_56' THEN a.latency.up_to_0_56
               WHEN 'up_to_1' THEN a.latency.up_to_1
               WHEN 'up_to_1_8' THEN a.latency.up_to_1_8
               WHEN 'up_to_3_2' THEN a.latency.up_to_3_2
               WHEN 'up_to_5_6' THEN a.latency.up_to_5_6
               WHEN 'up_to_10' THEN a.latency.up_to_10
               WHEN 'up_to_18' THEN a.latency.up_to_18
               WHEN 'up_to_32' THEN a.latency.up_to_32
               WHEN 'up_to_56' THEN a.latency.up_to_56
               WHEN 'up_to_100' THEN a.latency.up_to_100
               WHEN 'up_to_180' THEN a.latency.up_to_180
               WHEN 'up_to_320' THEN a.latency.up_to_320
               WHEN 'up_to_560' THEN a.latency.up_to_560
               WHEN 'up_to_1000' THEN a.latency.up_to_1000
               WHEN 'up_to_1800' THEN a.latency.up_to_1800
               WHEN 'up_to_3200' THEN a.latency.up_to_3200
               WHEN 'up_to_5600' THEN a.latency.up_to_5600
               WHEN 'up_to_10000' THEN a.latency.up_to_10000
               WHEN 'up_to_18000' THEN a.latency.up_to_18000
               WHEN 'up_to_32000' THEN a.latency.up_to_32000
               WHEN 'up_to_56000' THEN a.latency.up_to_56000
               WHEN 'up_to_100000' THEN a.latency.up_to_100000
               WHEN 'up_to_180000' THEN a.latency.up_to_180000
               WHEN 'up_to_320000' THEN a.latency.up_to_320000
               WHEN 'up_to_560000' THEN a.latency.up_to_560000
               WHEN 'up_to_1000000' THEN a.latency.up_to_1000000
               WHEN 'above' THEN a.latency.above
           END AS requests
    FROM {client_activity} AS a
    CROSS JOIN (VALUES ('up_to_0_1', 0.1), ('up_to_0_18', 0.18), ('up_to_0_32', 0.32), ('up_to_0_56', 0.56),
        ('up_to_1', 1), ('up_to_1_8', 1.8), ('up_to_3_2', 3.2), ('up_to_5_6', 5.6), ('up_to_10', 10),
        ('up_to_18', 18), ('up_to_32', 32), ('up_to_56', 56), ('up_to_100', 100), ('up_to_180', 180),
        ('up_to_320', 320), ('up_to_560', 560), ('up_to_1000', 1000), ('up_to_1800', 1800),
        ('up_to_3200', 3200), ('up_to_5600', 5600), ('up_to_10000', 10000), ('up_to_18000', 18000),
        ('up_to_32000', 32000), ('up_to_56000', 56000), ('up_to_100000', 100000), ('up_to_180000', 180000),
        ('up_to_320000', 320000), ('up_to_560000', 560000), ('up_to_1000000', 1000000), ('above', NULL)
    ) AS f (field, bound)
    WHERE a.api_name IS NOT NULL
) AS l
WHERE requests > 0 AND up_to_ms IS NOT NULL
