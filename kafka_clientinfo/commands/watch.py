"""The command `watch`: says after a run what it brought that somebody should know, and writes metrics for Prometheus."""

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..printable import safe
from ..questions.alarms import alarms, known_before, logs_of_brokers
from ..questions.filters import TIME_FORMS, Filters, Scope, given_time
from ..questions.impact import count_clients
from ..questions.presenter import REFUSED_ALREADY, counted
from ..questions.refused import refusals
from ..releases.broker_releases import ACCEPTED, NO_TARGET, REFUSED, other_release, release, releases
from ..tables.spec import CLIENT
from .context import SOMETHING_FOUND, Context, add_warehouse
from .messages import TOKEN, Webhook
from .output import Table, add_formats, instant, limit_of, show, write_private
from .ownership import Ownership, add_owners, given_owners

HELP = "say what the newest run brought that is new (exit code 3)"
EXAMPLES = (
    "watch --target 4.1 --warehouse /data/clientinfo --owners owners.toml",
    "watch --target 4.1 --warehouse /data/clientinfo --webhook https://receiver.example/path --metrics /var/lib/node_exporter/kafka.prom",
)
_SHOWN = 50
_LINE = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", metavar="RELEASE", help="release of Kafka that clients should work with (default: the newest)"
    )
    add_warehouse(parser, "only this cluster")
    parser.add_argument(
        "--since", metavar="T", help=f"what is new since then, in place of the end of the run before: {TIME_FORMS}"
    )
    add_owners(parser)
    parser.add_argument(
        "--webhook",
        metavar="URL",
        help=f"post what is new as JSON (Slack, Teams); the variable {TOKEN} has a token for it",
    )
    parser.add_argument(
        "--metrics", metavar="FILE", help="write figures of all clusters in the text format of Prometheus"
    )
    add_formats(parser, _SHOWN)


def execute(context: Context) -> int:
    arguments = context.arguments
    webhook = None if arguments.webhook is None else Webhook(arguments.webhook)
    asked = None if arguments.since is None else given_time(arguments.since, "--since")
    if arguments.metrics is not None and not arguments.metrics.strip():
        raise ConfigError(f"--metrics is {arguments.metrics!r}; name a file")
    owners = given_owners(context)
    scope, notes = context.scope("upgrade_impact")
    scope = replace(scope, filters=Filters(cluster=arguments.cluster))  # the figures are not those since --since
    target = arguments.target or list(releases())[-1]
    names = scope.tables.query("SELECT DISTINCT cluster FROM {ingested_files} AS f ORDER BY cluster")
    clusters = [name for (name,) in names if arguments.cluster in (None, name)]
    known = known_before(scope) if asked is None else dict.fromkeys(clusters, asked)
    since = {name: at for name, at in known.items() if name in clusters}
    owned = Ownership(owners, scope).names_of_clients() if owners.rules else None
    new = alarms(scope, since, target, owned, asked is not None)
    if arguments.metrics is not None:
        everything = replace(scope, filters=Filters())
        lines = "".join(f"{line}\n" for line in _metrics(everything, [name for (name,) in names], target, owned))
        write_private(Path(arguments.metrics), lines.encode(), "--metrics", 0o644)
    if webhook is not None and new:
        posted = [safe(f"{one.cluster}: {one.text}", _LINE) for one in new]
        webhook.post({"text": "\n".join(posted), "alarms": [one._asdict() | {"at": instant(one.at)} for one in new]})
    if first_runs := [_first_run(scope, name, target) for name in clusters if name not in since]:
        notes = [*first_runs, *([] if arguments.target else [NO_TARGET]), *notes]
    if new and (other := other_release(arguments.asked_release or target, release(target))) is not None:
        notes.insert(0, other)
    if since and not new:
        notes.insert(0, f"Nothing new since {max(since.values()):%Y-%m-%d %H:%M:%S} UTC.")
    table = Table("", ("kind", "cluster", "first seen", "what"), new, name="alarms").first(limit_of(arguments))
    since_when = {name: instant(at) for name, at in since.items()}
    show(arguments, [table], notes, {"target": target, "since": since_when, "alarms": table.dicts()})
    return SOMETHING_FOUND if new else 0


def _first_run(scope: Scope, cluster: str, target: str) -> str:
    own = replace(scope, filters=Filters(cluster=cluster))
    numbers, _ = count_clients(own, target, refusals(own))
    already = f"{counted(numbers[REFUSED], 'client')} would break at Kafka {target} already, as `kafka-clientinfo upgrade` says"
    return f"There is one run only of {safe(cluster)}: nothing to compare it with. {already}."


def _metrics(
    scope: Scope, clusters: Sequence[str], target: str, owned: Collection[tuple[Any, ...]] | None
) -> Iterator[str]:
    """Yield the lines of the metrics; `owned` are the clients with an owner, None without rules on owners."""
    refused = refusals(scope)
    by_verdict = {}
    for name in clusters:
        numbers, doubts = count_clients(replace(scope, filters=Filters(cluster=name)), target, refused)
        numbers[ACCEPTED] -= doubts.fine_beside_refused
        if doubts.is_only_info and not numbers[ACCEPTED]:
            del numbers[ACCEPTED]
        numbers[REFUSED] -= doubts.maybe_upgraded
        numbers["maybe_upgraded"] = doubts.maybe_upgraded
        by_verdict[name] = numbers | {
            REFUSED_ALREADY: doubts.clients_refused_already,
            "maybe_refused_already": doubts.fine_beside_refused,
        }
    yield from _gauge(
        "clients", "Clients by their worst verdict at the target; those that are fine are not logged at INFO.",
        [
            ({"cluster": name, "target": target, "verdict": verdict}, number)
            for name, verdicts in by_verdict.items() for verdict, number in verdicts.items()
        ],
    )  # fmt: skip
    if owned is not None:
        clients = [tuple(row) for row in scope.query(f"SELECT {', '.join(CLIENT)} FROM {{client_inventory}} AS i")]
        unowned = Counter(cluster for cluster, *rest in clients if (cluster, *rest) not in owned)
        yield from _of_clusters("unowned_clients", "Clients without an owner.", clusters, unowned)
    requests: Counter[str] = Counter()
    for row in refused.kinds:
        requests[row["cluster"]] += row["requests"]
    yield from _of_clusters(
        "refused_requests", "Requests that brokers refused within the last day of their logs.", clusters, requests
    )
    logs = [row for row in logs_of_brokers(scope) if row["cluster"] in clusters]
    labels = [{"cluster": row["cluster"], "broker": row["broker"]} for row in logs]
    of_logs = list(zip(labels, logs, strict=True))
    yield from _gauge(
        "log_covered",
        "Whether a broker's log holds every request at its end.",
        [(own, int(row["covered_until"] is not None)) for own, row in of_logs],
    )
    yield from _gauge(
        "logged_until_seconds", "Time of a broker's last request in its logs.",
        [(own, row["until"].timestamp()) for own, row in of_logs],
    )  # fmt: skip
    ((ended,),) = scope.tables.query("SELECT max(ended) FROM {runs}")
    if ended is not None:
        yield from _gauge("last_run_seconds", "Time of the end of the last run.", [({}, ended.timestamp())])


def _of_clusters(name: str, text: str, clusters: Iterable[str], numbers: Mapping[str, int]) -> Iterator[str]:
    return _gauge(name, text, [({"cluster": cluster}, numbers.get(cluster, 0)) for cluster in clusters])


def _gauge(name: str, text: str, values: Iterable[tuple[Mapping[str, str], float]]) -> Iterator[str]:
    yield f"# HELP kafka_clientinfo_{name} {text}"
    yield f"# TYPE kafka_clientinfo_{name} gauge"
    for labels, value in values:
        given = ",".join(f'{label}="{_label(text)}"' for label, text in labels.items())
        yield f"kafka_clientinfo_{name}{f'{{{given}}}' if given else ''} {value}"


def _label(text: str) -> str:
    return safe(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
