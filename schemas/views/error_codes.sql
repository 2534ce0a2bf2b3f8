-- What an error code means: the name of each in Kafka's Errors enum, and whether Kafka's clients send the request again.
SELECT error_code, error_name, is_retriable FROM {kafka_errors} AS e
