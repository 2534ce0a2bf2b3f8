-- What the newest run that read requests of a cluster brought that an operator should know, a row for each alarm of `watch`: for an alert of your own.
-- New is what the runs before had not read, by the broker and file that it is in; after the first run of a cluster nothing is.
-- Who breaks has a row for each release: choose one. Clients without an owner are missing: only `watch --owners` knows owners.
SELECT kind, cluster, broker, principal, client_id, topic, release, first_seen, known_until, what
FROM {changes} AS c
WHERE kind <> 'unowned' AND is_new AND is_merged
