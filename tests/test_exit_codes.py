"""Exit codes of the command, each seen from outside: a process with a command that does only what the case is about.

The same with the real commands, which start Spark, is in lab/test_processes.py.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
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


def process(body: str, shell: str = "", line: Sequence[str] = ("verify",)) -> subprocess.CompletedProcess[str]:
    """The command in a process; `shell` is what a shell does with its standard streams, and `line` the command's own."""
    command = ["bash", "-c", f'"$@" {shell}; exit ${{PIPESTATUS[0]}}', "bash"] if shell else []
    arguments = [*command, sys.executable, "-c", PROGRAM.format(body=body), *line]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("what", BODIES)
def test_a_command_that(what: str) -> None:
    body, code, said = BODIES[what]
    done = process(body)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["report", "--output", "page.html"], "nothing was changed"),
        (["diff", "--from", "2d", "--to", "today"], "nothing was changed"),
        (["run", "logs"], "what was committed is whole, and the next run goes on from there"),
        (["forget", "--cluster", "a"], "what was committed is whole, and the next run goes on from there"),
        (["maintain"], "what was committed is whole, and the next run goes on from there"),
    ],
)
def test_ctrl_c_is_answered_by_what_is_there_afterwards(line: list[str], told: str) -> None:
    done = process(BODIES["is stopped"][0], line=line)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"kafka-clientinfo: stopped; {told}\n")


CLOSED = "kafka-clientinfo: standard output cannot be written: Bad file descriptor"


@pytest.mark.parametrize("body", [SHORT, LONG])
@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("| true", 3, ""),
        ("| head -c 3 > /dev/null", 3, ""),
        (">&-", 1, CLOSED),
        (">&- 2>&-", 1, ""),
        ("2>&-", 3, ""),
        ("<&-", 3, ""),
        ("<&- >&- 2>&-", 1, ""),
        ("> /dev/full", 1, FULL),
        ("> /dev/full 2> /dev/full", 1, ""),
    ],
)
def test_who_does_not_read_the_output_changes_no_verdict_and_a_full_disk_is_named(
    body: str, shell: str, code: int, said: str
) -> None:
    done = process(body, shell)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize("line", [["--help"], ["--version"], ["verify", "--help"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_that_a_full_disk_does_not_take_is_a_failure(
    line: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    program = "from kafka_clientinfo import cli; cli.entry()"
    command = ["bash", "-c", '"$@" > /dev/full', "bash", sys.executable, "-c", program, *line]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr.startswith(FULL)) == (1, True)


@pytest.mark.parametrize("shell", ["| true", "2>&-", "2> /dev/full"])
def test_an_error_that_nobody_reads_keeps_its_code(shell: str) -> None:
    assert process("raise ConfigError('found, do this')", shell).returncode == 2


def test_the_readme_lists_them() -> None:
    rows = re.findall(
        r"^\| (\d+) \| .+ \|$", (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8"), re.MULTILINE
    )
    assert {int(code) for code in rows} == {code for _, code, _ in BODIES.values()}
    assert 128 + signal.SIGINT == 130
