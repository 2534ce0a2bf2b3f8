"""Exit codes of the command, each seen from outside, and what is said of a module that is not installed.

The same with the real commands, which start Spark, is in lab/test_processes.py.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_clientinfo.errors import missing_extra

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import os, signal, sys
from kafka_clientinfo import cli
from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.errors import ClientInfoError, ConfigError

def execute(context):
    {body}

cli.COMMANDS[sys.argv[1]].execute = execute
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
cli.entry([*sys.argv[1:], "--warehouse", "./w"])
"""
LONG = "text_tables.output('text ' * 100_000); return 3"
SHORT = "text_tables.output('text'); return 3"
UNSAID = "kafka-clientinfo: standard output cannot be written: "
FULL = f"{UNSAID}No space left on device; send the output elsewhere"
# what the command does, and what a shell does with its standard streams: the exit code, and what is said
CASES = {
    ("return 0", ""): (0, ""),
    ("return 3", ""): (3, ""),
    ("raise ClientInfoError('found, do this')", ""): (1, "kafka-clientinfo: found, do this\n"),
    ("raise ConfigError('found, do this')", ""): (2, "kafka-clientinfo: found, do this\n"),
    ("raise ValueError('odd')", ""): (1, "kafka-clientinfo: ValueError: odd (KAFKA_CLIENTINFO_DEBUG=1 shows where)\n"),
    ("raise BrokenPipeError(32, 'Broken pipe')", ""): (1, "kafka-clientinfo: Spark's JVM is gone: "),
    ("os.kill(os.getpid(), signal.SIGINT)", ""): (130, "kafka-clientinfo: stopped; nothing was changed\n"),
    (LONG, "| head -c 3 > /dev/null"): (3, ""),
    (SHORT, ">&-"): (1, f"{UNSAID}Bad file descriptor"),
    (SHORT, "2>&-"): (3, ""),
    (SHORT, "<&- >&- 2>&-"): (1, ""),
    (SHORT, "> /dev/full"): (1, FULL),
    (LONG, "> /dev/full 2> /dev/full"): (1, ""),
    ("raise ConfigError('found, do this')", "2> /dev/full"): (2, ""),
}


def process(program: str, shell: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", f'"$@" {shell}; exit ${{PIPESTATUS[0]}}', "bash"] if shell else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    line = [*command, sys.executable, "-c", program, *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(("body", "shell"), CASES)
def test_a_command_that(body: str, shell: str) -> None:
    code, said = CASES[body, shell]
    done = process(PROGRAM.format(body=body), shell, "verify")
    assert (done.returncode, done.stdout if not shell else "") == (code, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize(("line", "unbuffered"), [(["--version"], ""), (["verify", "--help"], "1")])
def test_help_that_a_full_disk_does_not_take_is_a_failure(line: list[str], unbuffered: str) -> None:
    program = "from kafka_clientinfo import cli; cli.entry()"
    done = process(program, "> /dev/full", *line, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr.startswith(FULL)) == (1, True)


def test_the_docs_list_them() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \| .+ \|$", page, re.MULTILINE)} == {0, 1, 2, 3, 130}


SPARK = ("local", "Spark, Delta and pandas, for a machine where no platform does")
TABLES = ("answers", "what reads tables without Spark")
BRINGS = {"pyspark": SPARK, "delta.tables": SPARK, "duckdb": TABLES, "deltalake": TABLES}
BRINGS |= {
    "shtab": ("answers", "what completes commands in a shell"),
    "vl_convert": ("report", "what draws the report's plots"),
}


@pytest.mark.parametrize("module", [*BRINGS, "numpy"])
def test_a_module_that_is_missing_names_the_extra_that_brings_it(module: str) -> None:
    extra, brings = BRINGS.get(module, (None, None))
    how = f"pip install '.[{extra}]' (in a clone; with a wheel, 'FILE.whl[{extra}]')"
    said = extra and f"the Python module {module.partition('.')[0]} is not installed; {how} brings {brings}"
    assert missing_extra(ModuleNotFoundError(name=module)) == said
    assert missing_extra(ImportError(name=module)) is missing_extra(ModuleNotFoundError()) is None
