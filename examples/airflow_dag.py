"""Two DAGs for Airflow 3.3: one reads new request logs every hour, the other checks and compacts the tables every night.

The worker needs `kafka-clientinfo[local]` on its PATH, Java, the logs and the tables. A task fails if its command does. After
exit code 1 a retry makes sense, because the next run continues where the last one ended; exit code 2 means a wrong argument.
"""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

LOGS = "/var/log/kafka"
WAREHOUSE = "/data/clientinfo"
CLUSTER = "orders"
TARGET = "4.0.1"

DEFAULTS = {"retries": 2, "retry_delay": timedelta(minutes=5)}
BREAKS = 3

with DAG(
    "kafka_clientinfo",
    schedule="10 * * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
):
    BashOperator(
        task_id="run",
        bash_command=f"kafka-clientinfo run {LOGS} --warehouse {WAREHOUSE} --cluster {CLUSTER}",
    )

with DAG(
    "kafka_clientinfo_nightly",
    schedule="40 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
):
    verify = BashOperator(task_id="verify", bash_command=f"kafka-clientinfo verify --warehouse {WAREHOUSE}")
    maintain = BashOperator(
        task_id="maintain",
        bash_command=f"kafka-clientinfo maintain --warehouse {WAREHOUSE} --retention-days 90",
    )

    @task
    def upgrade() -> str:
        """Return who would break. Exit code 3 (a client would break) is an answer, not a failure."""
        import subprocess

        command = ["kafka-clientinfo", "upgrade", "--target", TARGET, "--warehouse", WAREHOUSE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, BREAKS):
            raise AirflowFailException(done.stderr)
        return done.stdout

    verify >> maintain >> upgrade()
