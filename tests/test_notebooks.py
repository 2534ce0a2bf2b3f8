"""The notebooks run on the sample, from their first cell to their last."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.tables.spec import table_specs

from . import notebooks

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "jobs" / "notebooks"


@pytest.fixture(autouse=True)
def draw_nowhere() -> None:
    matplotlib.use("agg")


NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_takes_its_inputs_from_widgets(name: str) -> None:
    """It has no schema of its own: which one it is, is said in one place, by the bundle."""
    text = "\n".join(cell.text for cell in notebooks.cells(NOTEBOOKS / f"{name}.py") if cell.magic is None)
    declared = dict(re.findall(r'dbutils\.widgets\.text\("(\w+)", ["\']([^,]*)["\'], "', text))
    assert declared["warehouse"] == declared["wheel"] == ""
    assert len(declared) == text.count("dbutils.widgets.text(")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_refuses_to_look_nowhere_and_installs_the_wheel_that_it_is_given(name: str) -> None:
    """Opened by hand; as a task of a job, it finds it in the job's environment."""
    installed: list[tuple[str, ...]] = []

    class Stop(Exception):
        pass

    class Shell:
        def run_line_magic(self, *line: str) -> None:
            installed.append(line)
            raise Stop

    with pytest.raises(ValueError, match=r"such as main\.kafka_clientinfo_dev"):
        notebooks.run(NOTEBOOKS / f"{name}.py", None)
    given = {"warehouse": "main.kafka", "wheel": "/Workspace/a/b.whl"} | ({"logs": "/l"} if name == "set_up" else {})
    with pytest.raises(Stop):
        notebooks.run(NOTEBOOKS / f"{name}.py", None, Shell, **given)
    assert installed == [("pip", "install /Workspace/a/b.whl")]


def test_the_set_up_makes_a_folder_per_cluster_and_ends_in_a_sentence_while_there_are_no_logs(
    spark: Any, tmp_path: Path
) -> None:
    given = {"logs": f"{tmp_path}/logs/", "warehouse": str(tmp_path / "lake"), "clusters": '["orders", "payments"]'}
    done = notebooks.run(NOTEBOOKS / "set_up.py", spark, **given)
    assert done.exited_with == f"Nothing yet: upload logs to {tmp_path}/logs/CLUSTER/BROKER/, and run this again."
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["orders", "payments"]
    assert not (tmp_path / "lake").exists()
    assert done.shown == []


@pytest.mark.long
class TestNotebooks:
    """Each on the sample's tables, in a session that any other could be put for."""

    @pytest.fixture
    def run(self, spark: Any, sample_warehouse: Path) -> Iterator[Any]:
        def run(name: str, **given: str) -> notebooks.Run:
            return notebooks.run(NOTEBOOKS / f"{name}.py", spark, warehouse=str(sample_warehouse), **given)

        yield run
        for name in [*table_specs(), "connections_of_the_client", "violations_of_the_client"]:
            spark.catalog.dropTempView(name)

    def test_a_first_look_sees_one_cluster_or_all(self, run: Any) -> None:
        shown = run("first_look").shown
        assert all(shown)
        assert sum(row["requests"] for row in shown[0]) == 14684
        shown = run("first_look", cluster="another").shown
        assert [one for one in shown if isinstance(one, list) and one] == []

    def test_upgrade_readiness_judges_as_the_command_does(self, run: Any, spark: Any, sample_warehouse: Path) -> None:
        done = run("upgrade_readiness", target="4.0.1")
        expected = impact(Scope(SparkTables(spark, str(sample_warehouse))), "4.0.1", all_targets=True)
        counts = {row["verdict"]: row["count"] for row in done.shown[0]}
        assert counts == {verdict: number for verdict, number in expected.clients.items() if number}
        assert counts["refused"] > 0
        breaking = {name: counts["refused"] for name, counts in expected.by_release.items() if counts["refused"]}
        assert done.names["at_release"] == breaking
        nearest = run("upgrade_readiness", target="4.0")  # the nearest release that was measured
        assert {row["verdict"]: row["count"] for row in nearest.shown[0]} == counts
        with pytest.raises(ConfigError, match=r"no release '9\.9' is known here"):
            run("upgrade_readiness", target="9.9")

    def test_a_misbehaving_client_is_the_worst_one_or_the_one_that_is_named(self, run: Any) -> None:
        done = run("misbehaving_client")
        assert all(done.shown)
        assert done.names["client_id"] == done.shown[0][0]["client_id"] != ""
        found = {rule for row in done.shown[0] for rule in row["rule_names"]}
        assert {"versions_learnt_elsewhere", "request_unreadable"} <= found  # of several connections, and of server.log
        assert "client_id_changed" in {row["rule"] for row in run("misbehaving_client", client_id="one").shown[1]}

    def test_client_id_caching(self, run: Any) -> None:
        shown = run("client_id_caching", clients="5").shown
        assert [(row["saved"], row["spent"], row["net"]) for row in shown[0]] == [(147398, 212880, -65482)]
        assert len(shown[1]) == 5

    def test_the_set_up_makes_the_tables_and_finds_them_sound(self, spark: Any, tmp_path: Path) -> None:
        """Without a volume, which only Databricks has; of the clusters, one has no logs yet."""
        shutil.copytree(ROOT / "sample_logs" / "kafka-2.7.2", tmp_path / "logs" / "orders" / "kafka-2.7.2")
        given = {"logs": str(tmp_path / "logs"), "clusters": '["orders", "payments"]'}
        done = notebooks.run(NOTEBOOKS / "set_up.py", spark, warehouse=str(tmp_path / "lake"), **given)
        assert {row["table"]: row["rows"] for row in done.shown[0]}["requests"] == 479
        assert {row["rows_that_disagree"] for row in done.shown[1]} == {0}
        clusters = spark.read.format("delta").load(str(tmp_path / "lake" / "requests")).select("cluster").distinct()
        assert [row["cluster"] for row in clusters.collect()] == ["orders"]
