"""Two DAGs for Airflow 3.3: one reads new request logs every hour, the other checks and compacts the tables every night.

The worker needs `kafka-clientinfo[local]` on its PATH, Java, the logs and the tables. A task fails if its command does. After
exit code 1 it is tried again, because the next run continues where the last one ended; after exit code 2 (an argument or a
setting is wrong) it is not, as that would fail too.
"""

import subprocess
from datetime import datetime, timedelta

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

LOGS = "/srv/kafka-logs"  # holds one folder per broker, with its name
WAREHOUSE = "/data/clientinfo"
CLUSTER = "orders"
TARGET = "4.0.1"

DEFAULTS = {"retries": 2, "retry_delay": timedelta(minutes=5)}
USAGE, BREAKS = 2, 3


def answer(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run the command and return what it prints; `codes` are the exit codes that are answers, not failures."""
    done = subprocess.run(["kafka-clientinfo", *arguments], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="\n")
    if done.returncode == USAGE:
        raise AirflowFailException(done.stderr)
    if done.returncode not in codes:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout


with DAG(
    "kafka_clientinfo",
    schedule="10 * * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
):

    @task
    def run() -> None:
        """Read the new bytes of the logs."""
        answer("run", LOGS, "--warehouse", WAREHOUSE, "--cluster", CLUSTER)

    run()

with DAG(
    "kafka_clientinfo_nightly",
    schedule="40 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
):

    @task
    def verify() -> None:
        """Check the tables."""
        answer("verify", "--warehouse", WAREHOUSE)

    @task
    def maintain() -> None:
        """Compact the tables, and delete requests of connections that ended 90 days ago."""
        answer("maintain", "--warehouse", WAREHOUSE, "--retention-days", "90")

    @task
    def upgrade() -> str:
        """Return who would break. Exit code 3 (a client would break) is an answer, not a failure."""
        return answer("upgrade", "--target", TARGET, "--warehouse", WAREHOUSE, codes=(0, BREAKS))

    verify() >> maintain() >> upgrade()
