"""What the commands share: the log of a session is kept only for the run that failed."""

from argparse import Namespace
from pathlib import Path

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands.context import Context
from tests.commands.fleet_on_disk import fleet, use


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "removed by another program"])
def test_the_log_of_a_session_that_went_well_is_gone(tmp_path: Path, is_there: bool) -> None:
    """Programs that tidy the folder of temporary files may come first, and what has succeeded must not fail of it."""
    context = Context(Namespace())
    context.spark_log = tmp_path / "spark.log"
    if is_there:
        context.spark_log.write_text("WARN ...")
    context.forget_spark_log()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("clusters", "end"), [(20, ""), (21, ", …")])
def test_a_message_names_twenty_clusters(
    clusters: int, end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["c", *(f"c{number}" for number in range(1, clusters))]
    root = fleet(tmp_path / "w", [use("a", "10.0.0.1", cluster=name) for name in names])
    assert cli.main(["summary", "--cluster", "other", "--warehouse", str(root)]) == 2
    known = ", ".join(map(repr, sorted(names)[:20]))
    assert capsys.readouterr().err.endswith(f"it has those of {known}{end}\n")
