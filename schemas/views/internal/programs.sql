-- Client ids with what they are without numbers, UUIDs and suffixes of pods: the ids of one program's instances differ by these alone.
-- Five letters at the end may be a word, or a pod's: they are a pod's if another id that differs in them only surely has such an end.
WITH ids AS (SELECT DISTINCT client_id, without_pod(client_id) AS without_pod FROM {client_inventory}),
named AS (SELECT client_id, without_numbers(client_id) AS program, without_numbers(without_pod) AS of_pods, without_pod <> client_id AS may_be_pod FROM ids)
SELECT client_id, CASE WHEN may_be_pod AND bool_or(may_be_pod AND program = of_pods) OVER (PARTITION BY of_pods) THEN of_pods ELSE program END AS program
FROM named
