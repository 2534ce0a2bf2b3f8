"""How it is known when a log holds every request: only then does its silence say something.

    evidence                                                  | module         | read from
    ----------------------------------------------------------|----------------|-------------------------------
    runs of requests at DEBUG without a silence               | `debug_runs`   | requests, as a split reads them
    correlation ids that a log leaves out                     | `omissions`    | the same
    first requests after a start or a restart of the broker   | `broker_start` | the same
    starts that a broker reports, and those that logs show    | `starts`       | the ledger, a row per file
    periods in which a log holds every request, out of all    | `periods`      | the ledger
    what new bytes show of requests that were read before     | `changes`      | the ledger, before and after

The first three add what they find to a file's row of the ledger (`ingested_files`). The others look at all files of a
broker, which a run has in memory, so all of it is plain Python; `connections.judged` joins requests with the periods.
"""
