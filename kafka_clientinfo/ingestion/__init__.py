"""From log files to Arrow batches: `plan` finds what is new; `by_spark`, or `in_process` and `by_processes`, read it."""
