"""The command `completion`: prints a script with which a shell completes commands, options, releases and rules."""

import argparse
import re

from . import text_tables
from .context import Context

HELP = "print the completion of a shell"
EXAMPLES = (
    "completion bash > ~/.local/share/bash-completion/completions/kafka-clientinfo",
    'completion zsh > "${fpath[1]}/_kafka-clientinfo"',
    "completion fish > ~/.config/fish/completions/kafka-clientinfo.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def execute(context: Context) -> None:
    import shtab

    from ..config.rules import rules
    from ..releases.broker_releases import releases

    parser: argparse.ArgumentParser = context.arguments.parser
    of_release = tuple(releases())
    choices = {"target": of_release, "upgrade": of_release, "rule": tuple(rules())}
    path_kinds = dict.fromkeys(("warehouse", "messages"), shtab.DIRECTORY)
    path_kinds |= dict.fromkeys(("conf", "owners", "logs"), shtab.FILE)
    for action in _actions(parser):
        if action.dest in choices:
            action.choices = choices[action.dest]
        elif action.dest in path_kinds:
            action.complete = path_kinds[action.dest]  # type: ignore[attr-defined]
    script = shtab.complete(parser, context.arguments.shell)
    # Below its title the generator names other folders than our help does.
    text_tables.output(re.sub(r"\A(#compdef .*\n)?\n*(?:#.*\n)+", r"\1", script, count=1))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    actions = []
    for action in parser._actions:
        actions.append(action)
        if isinstance(action, argparse._SubParsersAction):
            actions += [inner for command in action.choices.values() for inner in _actions(command)]
    return actions
