"""From log files to Arrow batches: `plan` finds what is new, `by_spark` and `in_process` read it."""
