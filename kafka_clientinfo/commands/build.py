"""The command `build`: derives the tables from `requests`, without reading logs."""

from . import run
from .context import add_common

HELP = "only build the other tables, from requests"
STOPPED = run.STOPPED
EXAMPLES = ("build --warehouse /data/clientinfo",)

add_arguments = add_common
execute = run.execute
