-- Which requests did a connection send: each request with the key and the role of its connection, requests that the log has twice once.
WITH files AS (
    SELECT file_id, row_number() OVER (PARTITION BY cluster, broker ORDER BY first_logged_at, last_logged_at, file_id) AS file_no
    FROM {ingested_files}
), places AS (
    SELECT c.cluster, c.broker, c.connection_id, c.session_no, c.opened_at, c.opened_seq, c.role, f.file_no, c.byte_offset,
           lead(f.file_no) OVER (PARTITION BY c.cluster, c.broker, c.connection_id ORDER BY c.session_no) AS next_file_no,
           lead(c.byte_offset) OVER (PARTITION BY c.cluster, c.broker, c.connection_id ORDER BY c.session_no) AS next_offset
    FROM {connections} AS c JOIN files AS f ON f.file_id = c.file_id
)
SELECT r.*, p.session_no, p.opened_at, p.opened_seq, p.role
FROM {requests} AS r
JOIN files AS f ON f.file_id = r.file_id
LEFT JOIN places AS p ON p.cluster = r.cluster AND p.broker = r.broker AND p.connection_id = r.connection_id
     AND (f.file_no > p.file_no OR (f.file_no = p.file_no AND r.byte_offset >= p.byte_offset))
     AND (p.next_file_no IS NULL OR f.file_no < p.next_file_no OR (f.file_no = p.next_file_no AND r.byte_offset < p.next_offset))
WHERE NOT r.is_duplicate
