"""A cluster run the field's way, for about seven minutes: python -m lab.field.scenario FOLDER

Leaves in FOLDER: a folder per broker with its logs, truth.json.gz (what was on the wire, see `capture`), events.json (what
happened when) and settings.toml (what the package needs to know).
"""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import brokers, capture, programs
from .brokers import CONTROLLER_PORT, NEW, OLD, Node, configs, switch_level, tool
from .hosts import BROKERS, network

SETTINGS = f"""# connections.max.idle.ms of all brokers but broker-3, which has {brokers.IDLE_MS[brokers.CONTAINER]}.
cluster = "field"
max_idle_ms = {brokers.STOCK_IDLE_MS}
coverage_gap_ms = 20000
controller_listeners = ["CONTROLLER"]
"""
LEVELS = {"broker-1": "INFO", "broker-2": "INFO", "broker-3": "DEBUG"}
"""Of the request log at each broker's start."""


@dataclass
class Run:
    """The cluster while it runs, and the record of what was done to it."""

    folder: Path
    nodes: dict[str, Node]
    began: float = field(default_factory=time.time)
    events: list[dict[str, object]] = field(default_factory=list)

    def note(self, what: str, **more: object) -> None:
        self.events.append({"at": time.time(), "what": what, **more})
        print(f"{time.time() - self.began:6.1f} {what} {more or ''}", flush=True)

    def until(self, seconds: float) -> None:
        """Sleep until so many seconds after the beginning."""
        time.sleep(max(0.0, self.began + seconds - time.time()))

    def level(self, host: str, level: str) -> None:
        said = switch_level(self.nodes[host], level)
        self.note("level", broker=host, level=level)
        assert "Completed updating config" in said, said

    def admin(self, what: str, release: str, *arguments: str) -> None:
        """Run an administrator's tool."""
        said = tool(release, *arguments)
        self.note(what, said=said[-300:])
        assert "Exception" not in said, said

    def replace(self, host: str, release: str, stop: int = signal.SIGTERM, level: str | None = None) -> None:
        """End a broker and start it again, in this release, on the same data."""
        node = self.nodes[host]
        self.note("ends", broker=host, signal=signal.Signals(stop).name)
        node.stop(stop)
        self.note("ended", broker=host)
        node.release, node.level = release, level or node.level
        node.launch()
        self.note("launched", broker=host, release=release, level=node.level)
        node.wait()
        self.note("started", broker=host)


def play(folder: Path) -> None:
    """Run the cluster with all its clients; everything is ended and removed afterwards."""
    brokers.install(programs.LIBRARIES)
    with network(), capture.capture(folder / "capture"), cluster(folder) as run:
        with programs.programs(folder / "programs") as clients:
            timetable(run, clients)
        run.note("clients ended")
    (folder / "events.json").write_text(json.dumps(run.events, indent=1))
    (folder / "settings.toml").write_text(SETTINGS)
    capture.save(capture.wires(folder / "capture"), folder / "truth.json.gz")


@contextmanager
def cluster(folder: Path) -> Iterator[Run]:
    nodes = {host: Node(host, folder / host, OLD, LEVELS[host]) for host in BROKERS}
    run = Run(folder, nodes)
    with ExitStack() as ends:
        for node in nodes.values():
            node.format()
            ends.callback(node.stop)
        for node in nodes.values():
            node.launch()
            run.note("launched", broker=node.host, release=OLD, level=node.level)
        for node in nodes.values():
            node.wait()
            run.note("started", broker=node.host)
        run.began = time.time()
        yield run
        for node in nodes.values():  # all at once: the last ones have no quorum to say goodbye to
            node.ask_to_end()
    run.note("cluster ended")


def timetable(run: Run, clients: programs.Programs) -> None:
    """What happens, in seconds after the cluster's start; a step begins late if the one before took longer."""
    one, two = (["--bootstrap-server", run.nodes[host].bootstrap] for host in ("broker-1", "broker-2"))
    metrics = "--alter --entity-type client-metrics --entity-name all --add-config metrics=org.apache,interval.ms=10000"
    create = "--create --topic t1 --partitions 6 --replication-factor 3"
    run.admin("topic", OLD, "org.apache.kafka.tools.TopicCommand", *one, *create.split())
    run.admin("client metrics", OLD, configs(OLD), *two, *metrics.split())
    programs.start_at_first(clients)
    run.note("clients started")
    run.until(25)
    programs.start_with_log(clients, run.nodes["broker-2"].folder / "kafka-request.log")
    run.level("broker-2", "DEBUG")
    run.until(55)
    run.level("broker-1", "DEBUG")
    programs.start_new_java(clients)
    run.note("new java clients started")
    run.until(95)
    run.level("broker-1", "INFO")
    run.level("broker-3", "INFO")
    run.until(110)
    run.replace("broker-2", OLD, stop=signal.SIGKILL, level="DEBUG")
    names = programs.start_at_wrong_port(clients)
    run.note("clients at the wrong port started")
    run.until(135)
    clients.stop(*names)
    run.note("clients at the wrong port ended")
    run.until(160)
    run.level("broker-1", "DEBUG")
    run.level("broker-3", "DEBUG")
    run.until(175)
    programs.start_late(clients)
    run.note("late clients started")
    run.until(190)
    upgrade(run)
    after_upgrade(run, clients)


def upgrade(run: Run) -> None:
    """Replace all brokers by a new release; broker-1 begins at INFO again, and gets DEBUG a while later."""
    for host in ("broker-3", "broker-2", "broker-1"):
        run.replace(host, NEW, level="INFO" if host == "broker-1" else "DEBUG")
        time.sleep(6)


def after_upgrade(run: Run, clients: programs.Programs) -> None:
    one, two = (["--bootstrap-server", run.nodes[host].bootstrap] for host in ("broker-1", "broker-2"))
    began = time.time() - run.began
    run.admin("features", NEW, "org.apache.kafka.tools.FeatureCommand", *two, "upgrade", "--release-version", "4.4")
    programs.start_share(clients)
    run.note("share clients started")
    run.until(began + 35)
    run.level("broker-1", "DEBUG")
    run.level("broker-2", "INFO")
    controller = ["--bootstrap-controller", f"{BROKERS['broker-3']}:{CONTROLLER_PORT}"]
    describe = "--describe --entity-type brokers --entity-name 1"
    run.admin("at the controller", NEW, configs(NEW), *controller, *describe.split())
    quorum = ("org.apache.kafka.tools.MetadataQuorumCommand", *controller, "describe", "--status")
    run.admin("at the controller", NEW, *quorum)
    topic = "--create --topic t2 --partitions 3 --replication-factor 3"
    run.admin("topic", OLD, "org.apache.kafka.tools.TopicCommand", *two, *topic.split())
    run.until(began + 65)
    run.replace("broker-1", NEW, level="DEBUG")
    run.admin("topic", NEW, "org.apache.kafka.tools.TopicCommand", *one, "--describe")
    run.until(began + 100)
    run.level("broker-2", "DEBUG")
    run.until(began + 115)
    programs.start_late(Renamed(clients.folder, clients.running))
    run.note("late clients came again")
    run.until(began + 135)


class Renamed(programs.Programs):
    """Programs that run beside those of the same name."""

    def start(self, name: str, host: str, command: list[str], **environment: str) -> None:
        super().start(f"{name}-again", host, command, **environment)


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True)
    play(target)
