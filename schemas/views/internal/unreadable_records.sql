-- How many records between requests of a file cannot be read, and a time in which they are; is_silent if that has no requests.
WITH parts AS (
    SELECT cluster, broker, file_id, explode(debug_runs) AS part FROM {ingested_files}
),
records AS (
    SELECT p.cluster, p.broker, r.file_id, r.byte_offset,
           max(CASE WHEN p.part.ended_offset < r.byte_offset THEN p.part.ended_at END) AS silent_since,
           min(CASE WHEN p.part.began_offset > r.byte_offset THEN p.part.began_at END) AS silent_until,
           max(CASE WHEN p.part.began_offset < r.byte_offset AND p.part.ended_offset > r.byte_offset THEN p.part.began_at END) AS since,
           max(CASE WHEN p.part.began_offset < r.byte_offset AND p.part.ended_offset > r.byte_offset THEN p.part.ended_at END) AS until
    FROM {rejected_records} AS r JOIN parts AS p ON p.file_id = r.file_id
    GROUP BY p.cluster, p.broker, r.file_id, r.byte_offset
),
placed AS (
    SELECT cluster, broker, coalesce(since, silent_since) AS since, coalesce(until, silent_until) AS until, since IS NULL AS is_silent
    FROM records WHERE since IS NOT NULL OR (silent_since IS NOT NULL AND silent_until IS NOT NULL)
)
SELECT cluster, broker, since, until, is_silent, count(*) AS records FROM placed GROUP BY cluster, broker, since, until, is_silent
