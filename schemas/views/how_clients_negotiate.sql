-- How clients negotiate: the outcomes of ApiVersions, and what clients fell back to.
SELECT cluster, client_id, client_software_name, api_versions_outcome, fallback_from, fallback_to, fallback_kind,
       count(*) AS connections
FROM {connections} WHERE role = 'client'
GROUP BY ALL ORDER BY connections DESC
