-- Per broker, listener and API: the range that the broker advertised from one time until another, as far as its answers show it.
-- It is the range of the last answer before a time; of several (a range was replaced and restored), the one that began last.
-- The listener is an empty text if none is logged. advertised_until is not part of the period.
WITH offers AS (
  SELECT cluster, broker, coalesce(listener, '') AS listener, api_key, process_began, process_ended, first_seen, last_seen,
         min_version, max_version,
         -- A range that an earlier process advertised too counts from the start of this one, which comes after that time.
         greatest(first_seen, timestamp_micros(unix_micros(process_began) + 1)) AS counts_from,
         timestamp_micros(unix_micros(least(last_seen, process_ended)) + 1) AS silent_from
  FROM {process_api_versions}
),
changes AS (
  SELECT cluster, broker, listener, api_key, process_began, process_ended, counts_from AS changes_at FROM offers
  UNION
  SELECT cluster, broker, listener, api_key, process_began, process_ended, silent_from AS changes_at FROM offers
),
periods AS (
  SELECT cluster, broker, listener, api_key, process_began, changes_at AS advertised_from,
         coalesce(
           lead(changes_at) OVER (PARTITION BY cluster, broker, listener, api_key, process_began ORDER BY changes_at),
           timestamp_micros(unix_micros(process_ended) + 1),
           timestamp_micros(253370764800000000)  -- the year 9999
         ) AS advertised_until
  FROM changes
),
newest AS (
  SELECT p.cluster, p.broker, p.listener, p.api_key, p.advertised_from, p.advertised_until,
         max(named_struct(
           'answered_until', least(o.last_seen, p.advertised_from), 'first_seen', o.first_seen, 'last_seen', o.last_seen,
           'low', o.min_version, 'high', o.max_version
         )) AS offer
  FROM periods AS p
  JOIN offers AS o
    ON p.cluster = o.cluster AND p.broker = o.broker AND p.listener = o.listener AND p.api_key = o.api_key
    AND p.process_began = o.process_began AND o.counts_from <= p.advertised_from
  WHERE p.advertised_from < p.advertised_until
  GROUP BY p.cluster, p.broker, p.listener, p.api_key, p.advertised_from, p.advertised_until
)
SELECT cluster, broker, listener, api_key, advertised_from, advertised_until, offer.low AS min_version, offer.high AS max_version
FROM newest
