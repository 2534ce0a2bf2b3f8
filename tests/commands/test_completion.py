"""Shell completion: what a shell would offer, asked from bash itself."""

import shutil
import subprocess

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import COMMANDS

pytest.importorskip("shtab")
ASK = """
COMP_WORDS=({words}); COMP_CWORD={last}; COMP_LINE="{words}"; COMP_POINT=${{#COMP_LINE}}
function=$(complete -p kafka-clientinfo | sed 's/.* -F \\([^ ]*\\).*/\\1/')
"$function" kafka-clientinfo "${{COMP_WORDS[COMP_CWORD]}}" ""; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    text = script(capsys, shell)
    assert all(name in text for name in COMMANDS)
    assert "4.0.1" in text
    assert "log_forging" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["kafka-clientinfo", "cl"], {"clients"}),
        (["kafka-clientinfo", "upgrade", "--target", "4.0"], {"4.0.0", "4.0.1"}),
        (["kafka-clientinfo", "scan", "--upgrade", "4.0"], {"4.0.0", "4.0.1"}),
        (["kafka-clientinfo", "violations", "--rule", "log_"], {"log_forging"}),
        (["kafka-clientinfo", "clients", "--princ"], {"--principal"}),
    ],
)
def test_bash_offers(capsys: pytest.CaptureFixture[str], words: list[str], offered: set[str]) -> None:
    program = script(capsys, "bash") + ASK.format(words=" ".join(words), last=len(words) - 1)
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == offered, done.stderr


def test_an_unknown_shell_is_usage() -> None:
    assert cli.main(["completion", "csh"]) == 2


def test_paths_are_completed_by_files_or_folders(capsys: pytest.CaptureFixture[str]) -> None:
    text = script(capsys, "zsh")
    for option, what in [
        ("warehouse", "_files -/"),
        ("messages", "_files -/"),
        ("conf", "_files"),
        ("owners", "_files"),
    ]:
        endings = {line.rpartition(":")[2] for line in text.splitlines() if line.strip().startswith(f'"--{option}[')}
        assert endings == {f'{what}"'}, option
    assert "_shtab_kafka_clientinfo_run_pos_0_COMPGEN=_shtab_compgen_files\n" in script(capsys, "bash")
