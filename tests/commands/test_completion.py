"""Shell completion: what a shell would offer, asked from bash itself."""

import shutil
import subprocess
from typing import Any

import pytest

from kafka_clientinfo.commands import COMMANDS

pytest.importorskip("shtab")
ASK = """
COMP_WORDS=({words}); COMP_CWORD={last}; COMP_LINE="{words}"; COMP_POINT=${{#COMP_LINE}}
function=$(complete -p kafka-clientinfo | sed 's/.* -F \\([^ ]*\\).*/\\1/')
"$function" kafka-clientinfo "${{COMP_WORDS[COMP_CWORD]}}" ""; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(ask: Any, shell: str) -> None:
    text = ask("completion", shell).out
    assert [name for name in (*COMMANDS, "4.0.1", "log_forging") if name not in text] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("cl", {"clients"}), ("upgrade --target 4.0", {"4.0.0", "4.0.1"}), ("scan --upgrade 4.0", {"4.0.0", "4.0.1"}),
        ("violations --rule log_", {"log_forging"}), ("clients --princ", {"--principal"}),
    ],
)  # fmt: skip
def test_bash_offers(ask: Any, words: str, offered: set[str]) -> None:
    program = ask("completion", "bash").out + ASK.format(words=f"kafka-clientinfo {words}", last=len(words.split()))
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == offered, done.stderr


def test_paths_are_completed_by_files_or_folders(ask: Any) -> None:
    lines = ask("completion", "zsh").out.splitlines()
    options = {"warehouse": "_files -/", "messages": "_files -/", "conf": "_files", "owners": "_files"}
    for option, what in options.items():
        endings = {line.rpartition(":")[2] for line in lines if line.strip().startswith(f'"--{option}[')}
        assert endings == {f'{what}"'}, option
    assert "_shtab_kafka_clientinfo_run_pos_0_COMPGEN=_shtab_compgen_files\n" in ask("completion", "bash").out
