-- Per broker and listener: every range of versions that its successful ApiVersions answers advertised, with when (KIP-35). If an upgrade changes the range of an API, the API has two rows.
SELECT cluster, broker, listener, api_key, api_name, min_version, max_version,
       min(first_seen) AS first_seen, max(last_seen) AS last_seen, sum(answers) AS answers, max(ingested_at) AS ingested_at
FROM {broker_api_version_parts}
GROUP BY ALL
