"""The command `ingest`: reads logs, without building the derived tables."""

from . import run

HELP = "only read logs, without building the other tables"
STOPPED = run.STOPPED
EXAMPLES = ("ingest /var/log/kafka --warehouse /data/clientinfo --cluster orders",)

add_arguments = run.add_arguments
execute = run.execute
