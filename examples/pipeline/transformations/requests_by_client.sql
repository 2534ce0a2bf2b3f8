-- Silver: which client asks for what, in which versions. A materialized view, so it is computed whole.
CREATE MATERIALIZED VIEW requests_by_client AS
SELECT cluster, client_id, principal, api_name, api_version, count(*) AS requests, max(logged_at) AS last_request_at
FROM requests
WHERE NOT is_duplicate
GROUP BY ALL
