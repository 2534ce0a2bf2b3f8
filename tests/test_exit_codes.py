"""Exit codes of the command, each seen from outside: a process with a command that does only what the case is about.

The same with the real commands, which start Spark, is in lab/test_processes.py.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import os, signal, sys
from kafka_clientinfo import cli
from kafka_clientinfo.commands import text_tables
from kafka_clientinfo.errors import ClientInfoError, ConfigError

def execute(context):
    {body}

cli.COMMANDS[sys.argv[1]].execute = execute
cli.entry([*sys.argv[1:], "--warehouse", "./w"])
"""
BODIES = {
    "goes well": ("return 0", 0, ""),
    "has a code of its own": ("return 3", 3, ""),
    "fails": ("raise ClientInfoError('found, do this')", 1, "kafka-clientinfo: found, do this\n"),
    "is told nonsense": ("raise ConfigError('found, do this')", 2, "kafka-clientinfo: found, do this\n"),
    "breaks": (
        "raise ValueError('odd')",
        1,
        "kafka-clientinfo: ValueError: odd (KAFKA_CLIENTINFO_DEBUG=1 shows where)\n",
    ),
    "loses its JVM": ("raise BrokenPipeError(32, 'Broken pipe')", 1, "kafka-clientinfo: Spark's JVM is gone: "),
    "is stopped": ("os.kill(os.getpid(), signal.SIGINT)", 130, "kafka-clientinfo: stopped; nothing was changed\n"),
}
LONG = "text_tables.output('text ' * 100_000); return 3"
SHORT = "text_tables.output('text'); return 3"
FULL = "kafka-clientinfo: standard output cannot be written: No space left on device; send the output elsewhere"


def process(body: str, shell: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process; `shell` is what a shell does with its standard streams."""
    command = ["bash", "-c", f'"$@" {shell}; exit ${{PIPESTATUS[0]}}', "bash"] if shell else []
    arguments = [*command, sys.executable, "-c", PROGRAM.format(body=body), "verify"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("what", BODIES)
def test_a_command_that(what: str) -> None:
    body, code, said = BODIES[what]
    done = process(body)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


CLOSED = "kafka-clientinfo: standard output cannot be written: Bad file descriptor"


@pytest.mark.parametrize(
    ("body", "shell", "code", "said"),
    [
        (LONG, "| head -c 3 > /dev/null", 3, ""), (SHORT, ">&-", 1, CLOSED), (SHORT, "2>&-", 3, ""),
        (SHORT, "<&- >&- 2>&-", 1, ""), (SHORT, "> /dev/full", 1, FULL), (LONG, "> /dev/full 2> /dev/full", 1, ""),
    ],
)  # fmt: skip
def test_who_does_not_read_the_output_changes_no_verdict_and_a_full_disk_is_named(
    body: str, shell: str, code: int, said: str
) -> None:
    done = process(body, shell)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize(
    ("line", "unbuffered"), [(["--version"], ""), (["verify", "--help"], "1")]
)  # fmt: skip
def test_help_that_a_full_disk_does_not_take_is_a_failure(
    line: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    program = "from kafka_clientinfo import cli; cli.entry()"
    command = ["bash", "-c", '"$@" > /dev/full', "bash", sys.executable, "-c", program, *line]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr.startswith(FULL)) == (1, True)


def test_an_error_that_nobody_reads_keeps_its_code() -> None:
    assert process("raise ConfigError('found, do this')", "2> /dev/full").returncode == 2


def test_the_readme_lists_them() -> None:
    rows = re.findall(
        r"^\| (\d+) \| .+ \|$", (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8"), re.MULTILINE
    )
    assert {int(code) for code in rows} == {code for _, code, _ in BODIES.values()}
    assert 128 + signal.SIGINT == 130
