"""Writes only the table of requests with Spark's `from_json`, in a process of its own, start included.

python -m lab.benchmarks.requests_only WAY FOLDER TABLE
"""

import json
import os
import sys
import time

from .extraction import local_spark
from .measure import STARTED
from .spark_ways import head_and_tail, log_files, whole_record

WAYS = {"whole": whole_record, "sliced": head_and_tail}


def main() -> None:
    """Read FOLDER and write TABLE."""
    way, folder, table = sys.argv[1:]
    started = float(os.environ.get(STARTED) or time.time())
    spark = local_spark()
    ready = time.time()
    WAYS[way](spark, log_files(folder)).write.format("delta").save(table)
    print(json.dumps({"start": ready - started, "write": time.time() - ready}), flush=True)


if __name__ == "__main__":
    main()
