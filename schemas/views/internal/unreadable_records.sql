-- How many records between requests of a file cannot be read; since and until are the bounds of a time without requests around them, or null.
WITH parts AS (
    SELECT cluster, broker, file_id, explode(debug_runs) AS part FROM {ingested_files}
),
records AS (
    SELECT p.cluster, p.broker, r.file_id, r.byte_offset,
           bool_or(p.part.began_offset < r.byte_offset AND p.part.ended_offset > r.byte_offset) AS is_among,
           max(CASE WHEN p.part.ended_offset < r.byte_offset THEN p.part.ended_at END) AS since,
           min(CASE WHEN p.part.began_offset > r.byte_offset THEN p.part.began_at END) AS until
    FROM {rejected_records} AS r JOIN parts AS p ON p.file_id = r.file_id
    GROUP BY p.cluster, p.broker, r.file_id, r.byte_offset
),
placed AS (
    SELECT cluster, broker, CASE WHEN NOT is_among THEN since END AS since, CASE WHEN NOT is_among THEN until END AS until
    FROM records WHERE is_among OR (since IS NOT NULL AND until IS NOT NULL)
)
SELECT cluster, broker, since, until, count(*) AS records FROM placed GROUP BY cluster, broker, since, until
