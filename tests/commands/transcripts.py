"""What commands print about one small warehouse, in `tests/golden/commands`: a file for each, by the name of each form.

`python -m tests.commands.transcripts` writes the files anew: read the difference before it is committed.
"""

import argparse
import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from kafka_clientinfo import cli
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.report.contents import report
from tests.commands.fleet_on_disk import TARGET, fleet, use
from tests.sections import sections, write_sections

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "commands"
OWNERS = r"""
[[owners]]
owner = "Payments"
contact = "pay@example.org"
hosts = ["10.1.0.0/16"]
[[owners]]
owner = "Search"
client_ids = ['search.*']
groups = ['g-\d']
[[owners]]
owner = "Nobody's"
client_ids = ['never seen']
"""
OLD: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
LATER: dict[str, Any] = {"advice": {"deprecated_by": {TARGET: "4.4.0"}}}
KNOWN: dict[str, Any] = {
    "library": "sarama", "upgrade_to": {TARGET: "1.46"}, "upgrade_newest": {TARGET: "1.61.1"},
    "upgrade_over": {TARGET: "3.9.1"},
}  # fmt: skip
SETTING: dict[str, Any] = {"library": "sarama", "upgrade_to": {}, "raise_setting": {TARGET: "Config.Version"}}
NO_RELEASE: dict[str, Any] = {"library": "kafka-python", "upgrade_to": {}, "upgrade_over": {}}
UNKNOWN = {"client_software_name": "unknown", "client_software_version": "unknown", "reason_unknown": "not_sent"}
ERROR, WARNING, NOTICE = (
    ("instance_id_zero", "error"),
    ("client_id_changed", "warning"),
    ("versions_learnt_elsewhere", "info"),
)
FACTS: dict[str, Any] = {
    "api_versions_attempts": [
        {"version": 4, "error_code": 35, "offered_min": 0, "offered_max": 3},
        {"version": 3, "error_code": 0, "offered_min": None, "offered_max": None},
    ],
    "api_versions_outcome": "fell_back",
    "fallback_from": 4,
    "fallback_to": 3,
    "remote_port": 40123,
    "other_client_ids": ["other", "another"],
    "client_id_redundant_bytes": 50,
    "instance_id_bytes": 160,
    "telemetry_request_id": "",
    "member_ids": [],
}
USES = (
    use("shared", "10.1.0.1", requests=1200, violations=[WARNING], **OLD),
    use("shared", "10.1.0.2", requests=90, hours=30, **OLD),
    use("shared", "10.2.0.1", requests=5, day=1, **OLD),
    use("shared", "10.1.0.1", requests=40),
    use("search", "10.2.0.2", "FETCH", 18, undecided="negotiates_down", groups=["x", "g-1"], day=1),
    use("search two", "10.2.0.3", "FETCH", 3, refused="below_range", advice=KNOWN, groups=["other"]),
    use("search two", "10.2.0.3", refused="below_range", version=0, advice=KNOWN, requests=3),
    use("library without a way", "10.1.0.4", "FETCH", 2, refused="below_range", advice=NO_RELEASE, day=1),
    use("library without a way", "10.1.0.4", refused="api_absent", version=1, day=1),
    use("new enough", "10.1.0.4", "FETCH", 3, refused="below_range", advice=SETTING, day=1),
    use("later", "10.1.0.5", "FETCH", 4, requests=77, **LATER),
    use("later", "10.1.0.5", "PRODUCE", 3, requests=78, **LATER),
    use("tie b", "10.3.0.1", requests=7, undecided="needs_kraft"),
    use("tie a", "10.3.0.1", requests=7, undecided="needs_kraft", day=2),
    use("moved", "10.3.0.2"),
    use("moved", "10.3.0.2", day=1, client_software_version="v2.0", violations=[ERROR, WARNING], groups=["g"], **FACTS),
    use("silent", "10.3.0.3", violations=[ERROR]),
    use("silent", "10.3.0.3", day=1, violations=[ERROR], **UNKNOWN),
    use(None, "10.1.0.1", principal=None, day=1, violations=[NOTICE]),
    use("elsewhere", "10.1.0.9", cluster="d", broker="one", info_only=True, day=1),
    use("elsewhere", "10.1.0.9", cluster="d", broker="two", day=1, **OLD),
    use("broker-1", "10.9.0.1", role="broker", day=1, violations=[WARNING], **OLD),
    use("gone", "10.4.0.1"),
    use("gone", None, violations=[NOTICE]),
    *(use("many hosts", f"10.5.0.{number}", day=1, **OLD) for number in range(1, 24)),
)
"""Clients that share hosts and names, over three days, on two clusters: each kind of verdict, of change, of violation."""
AT = ("--target", TARGET)
BY_OWNER = ("--owners", "OWNERS", "--by", "owner")
DAYS = ("--from", "2026-11-21", "--to", "2026-11-22")
COMMANDS: dict[str, tuple[str, ...]] = {
    "clients": ("clients",),
    "clients_limited": ("clients", "--limit", "2"),
    "clients_by_owner": ("clients", *BY_OWNER, "--markdown"),
    "clients_of_a_day": ("clients", "--since", "2026-11-22", "--until", "2026-11-23", "--cluster", "c", "--csv"),
    "clients_with_owners": ("clients", "--owners", "OWNERS", "--client", "s*", "--json"),
    "activity": ("activity",),
    "activity_by_api": ("activity", "--by", "api", "--top", "p99", "--markdown"),
    "activity_by_owner": ("activity", *BY_OWNER, "--limit", "2"),
    "activity_limited": ("activity", "--limit", "4"),
    "activity_of_a_day": ("activity", "--since", "2026-11-22", "--top", "throttle", "--client", "s*", "--json"),
    "violations": ("violations", "--limit", "0"),
    "violations_each": ("violations", "--each", "--severity", "warning", "--fail-on", "error"),
    "violations_limited": ("violations", "--limit", "2"),
    "violations_by_owner": ("violations", *BY_OWNER),
    "violations_of_a_rule": ("violations", "--rule", "client_id_changed", "--json"),
    "summary": ("summary",),
    "summary_with_owners": ("summary", "--owners", "OWNERS"),
    "summary_of_a_cluster": ("summary", "--cluster", "d", "--json"),
    "upgrade": ("upgrade", *AT),
    "upgrade_limited": ("upgrade", *AT, "--limit", "1"),
    "upgrade_by_owner": ("upgrade", *AT, *BY_OWNER),
    "upgrade_by_owner_limited": ("upgrade", *AT, *BY_OWNER, "--limit", "1", "--json"),
    "upgrade_with_owners": ("upgrade", *AT, "--owners", "OWNERS", "--limit", "0"),
    "upgrade_of_all": ("upgrade", "--all-targets", *AT, "--limit", "3", "--json"),
    "upgrade_matrix": ("upgrade", "--all-targets", "--owners", "OWNERS"),
    "upgrade_matrix_limited": ("upgrade", "--all-targets", "--limit", "4"),
    "upgrade_of_a_cluster": ("upgrade", "--target", "3.8.1", "--cluster", "d"),
    "upgrade_messages": ("upgrade", *AT, *BY_OWNER, "--messages", "MESSAGES"),
    "diff": ("diff", *DAYS, *AT),
    "diff_limited": ("diff", *DAYS, *AT, "--limit", "1", "--json"),
    "diff_of_later_days": ("diff", "--from", "2026-11-22", "--to", "2026-11-23"),
    "diff_of_a_client": ("diff", *DAYS, *AT, "--client", "silent", "--markdown"),
    "connection": ("connection", "14"),
    "connection_json": ("connection", "4", "--json"),
}  # fmt: skip
"""By the name of its transcript, a command; OWNERS and MESSAGES stand for paths."""
REPORTS = ("report",)
SCANS: dict[str, tuple[str, ...]] = {
    "scan": ("scan", "sample_logs/kafka-2.8.2", "sample_logs/kafka-4.4.0", "--upgrade", "4.0.1"),
    "scan_limited": ("scan", "sample_logs/kafka-2.4.1", "--upgrade", "2.4.1", "--limit", "2", "--json"),
}


ARGUMENTS = "arguments"
"""The transcript of what every command takes."""


def warehouse(folder: Path) -> Path:
    """Write the warehouse and the file of owners."""
    (folder / "owners.toml").write_text(OWNERS)
    return fleet(folder / "w", USES)


def transcript(folder: Path, name: str) -> str:
    """Return what a command prints, with its exit code and the messages that it writes."""
    if name in REPORTS:
        return _report(folder)
    if name == ARGUMENTS:
        return _arguments(cli.command_line())
    messages = folder / f"messages of {name}"
    paths = {"OWNERS": str(folder / "owners.toml"), "MESSAGES": str(messages)}
    arguments = [paths.get(word, word) for word in (COMMANDS | SCANS)[name]]
    where = [] if name in SCANS else ["--warehouse", str(folder / "w")]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = cli.main([*arguments, *where])
    text = printed.getvalue()
    if arguments[-1] == "--json":
        text = _readable(text)
    sent = "".join(f"\n=== {path.name}\n{path.read_text('utf-8')}" for path in sorted(messages.glob("*")))
    return _plain(f"exit code {code}\n{text}\n{sent}", folder)


def _arguments(parser: argparse.ArgumentParser, name: str = "") -> str:
    """Write down what a command takes, as data: each release of Python lays out the help in its own way."""
    lines = [f"# {name or parser.prog}", *filter(None, (parser.description, parser.epilog)), ""]
    commands: dict[str, argparse.ArgumentParser] = {}
    for group in parser._action_groups:
        for action in group._group_actions:
            if isinstance(action, argparse._SubParsersAction):
                commands |= action.choices
                lines += [f"{choice.dest}: {choice.help}" for choice in action._choices_actions]
            else:
                own = {
                    key: getattr(action, key) for key in ("nargs", "const", "default", "choices", "required", "metavar")
                }
                kind = f"{type(action).__name__.strip('_')} {getattr(action.type, '__name__', '')}".strip()
                facts = ", ".join(f"{key} {value!r}" for key, value in own.items() if value is not None)
                names = ", ".join(action.option_strings) or action.dest
                lines.append(f"[{group.title}] {names} to {action.dest}: {kind}, {facts}\n    {action.help}")
    lines.append(f"defaults: { {key: value for key, value in parser._defaults.items() if key != 'parser'} }")
    return _plain("\n".join([*lines, "", *(_arguments(each, one) for one, each in commands.items())]), ROOT)


def _report(folder: Path) -> str:
    """Return the data of the report's page, without its plots."""
    tables = local_tables(str(folder / "w"))
    assert tables is not None
    scope = Scope(tables)
    page = report(scope, impact(scope, TARGET, True))
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    around = re.sub(r"<(style|script|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", around)).strip()
    words = re.sub(r"\. (?=[A-Z])", ".\n", words)
    return _plain(f"{_readable(data)}\n{words}\n", folder)


def _readable(text: str) -> str:
    """Write JSON with lines, a list of plain values in one of them."""
    return re.sub(
        r"\[\s+[^][{}]*\]",
        lambda found: re.sub(r"\s*\n\s*", " ", found.group()),
        json.dumps(json.loads(text), indent=1),
    )


def _plain(text: str, folder: Path) -> str:
    """Leave out what is another in each run: paths, sizes of files, durations, the release of this package."""
    text = text.replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT")
    text = re.sub(r"Made by kafka-clientinfo [\d.]+ at [\d: -]+ UTC", "Made by kafka-clientinfo", text)
    return re.sub(r"in [\d.]+ s\b", "in N s", text)


def write() -> None:
    """Write all files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warehouse(folder)
        for command, of_command in groupby(names(), _command):
            write_sections(GOLDEN / f"{command}.txt", {one: transcript(folder, one).encode() for one in of_command})


def golden(name: str) -> str:
    """Return what a command has printed."""
    return sections(GOLDEN / f"{_command(name)}.txt")[name].decode()


def _command(name: str) -> str:
    return name.partition("_")[0]


def names() -> Iterator[str]:
    """Name the transcripts; those of a command follow each other."""
    yield from (*COMMANDS, *REPORTS, *SCANS, ARGUMENTS)


if __name__ == "__main__":
    write()
