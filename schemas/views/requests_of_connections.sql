-- Which requests did a connection send: each request with the key and the role of its connection, requests that the log has twice once.
SELECT of_ids.*, c.opened_at, c.opened_seq, c.role
FROM (
    SELECT r.*, max(b.session_no) OVER (
               PARTITION BY r.cluster, r.broker, r.connection_id ORDER BY f.file_no, r.byte_offset
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           ) AS session_no
    FROM {requests} AS r
    JOIN (
        SELECT file_id, row_number() OVER (
            PARTITION BY cluster, broker ORDER BY first_logged_at, last_logged_at, file_id
        ) AS file_no
        FROM {ingested_files}
    ) AS f ON f.file_id = r.file_id
    LEFT JOIN {connections} AS b ON b.cluster = r.cluster AND b.broker = r.broker AND b.connection_id = r.connection_id
         AND b.file_id = r.file_id AND b.byte_offset = r.byte_offset
    WHERE NOT r.is_duplicate
) AS of_ids
LEFT JOIN {connections} AS c ON c.cluster = of_ids.cluster AND c.broker = of_ids.broker
     AND c.connection_id = of_ids.connection_id AND c.session_no = of_ids.session_no
