"""Log files to Arrow batches: `plan` says what is new, `by_spark` and `in_process` read it."""
