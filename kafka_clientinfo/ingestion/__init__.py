"""Log files to Arrow batches: `plan` says what is new, `by_spark` hands it to Spark, and `in_process` to this process."""
