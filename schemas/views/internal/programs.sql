-- Client ids with what they are without numbers, UUIDs and suffixes of pods: the ids of one program's instances differ by these alone.
SELECT DISTINCT client_id, without_numbers(client_id) AS program FROM {client_inventory}
