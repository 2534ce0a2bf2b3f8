"""The command `upgrade`: verdict, owners, what it cannot tell, exit codes, and text that is safe to print."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables import broker_releases
from tests.frames import at, frame
from tests.transforms.test_upgrade_impact import FETCH, PRODUCE, session, usage

HOSTILE = "evil\x1b[2J\r\n\u202e"


@pytest.fixture(scope="module")
def warehouse(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three clusters: one that breaks at 4.0, one that is fine, one that logs at INFO."""
    from kafka_clientinfo.lake import Warehouse
    from kafka_clientinfo.transforms import upgrade_impact

    lake = Warehouse(spark, str(tmp_path_factory.mktemp("upgrade") / "w"))
    sessions, used = [], []
    for cluster, client_id, api, version, given in (
        ("old", "app", PRODUCE, 2, {"advertised_max": 9}),
        ("old", HOSTILE, FETCH, 3, {"advertised_max": 12}),
        ("old", "held", FETCH, 2, {"advertised_max": 2}),
        ("old", "app", FETCH, 12, {"advertised_max": 12}),
        ("new", "app", PRODUCE, 9, {"advertised_max": 9}),
        ("info", "app", FETCH, 3, {"deprecated": True, "info_only": True}),
    ):
        name = f"{client_id} {api} {version}"
        sessions.append(session(name, cluster=cluster, client_id=client_id))
        used.append(usage(api, version, cluster=cluster, broker="b", connection_id=name, **given))
    used = [u | {"header_version": 1, "highest_used": u["api_version"]} for u in used]
    offer = {"cluster": "new", "broker": "b", "api_key": 1, "min_version": 0, "max_version": 12, "answers": 1}
    rows: dict[str, list[dict[str, Any]]] = {
        "api_usage": used,
        "broker_api_versions": [offer | {"first_seen": at(0), "last_seen": at(9)}],
    }
    tables = {name: frame(spark, name, made) for name, made in rows.items()}
    impact = upgrade_impact.transform(
        frame(spark, "connection_sessions", sessions), tables["api_usage"], tables["broker_api_versions"]
    )
    for name, made in (tables | {"upgrade_impact": impact}).items():
        made.write.format("delta").save(lake.path(name))
    return lake.root


def upgrade(spark: Any, warehouse: str, *arguments: str) -> int:
    return cli.main(["upgrade", "--warehouse", warehouse, *arguments], spark)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--target", "4.0.1"), 3),
        (("--target", "3.9.1"), 0),
        (("--target", "4.0.1", "--cluster", "new"), 0),
        (("--target", "4.0.1", "--cluster", "info"), 3),
        (("--all-targets", "--cluster", "old"), 3),
        (("--all-targets", "--target", "3.9.1"), 0),
        ((), 2),
        (("--target", "4.0"), 2),
    ],
)
def test_the_exit_code_is_the_verdict(spark: Any, warehouse: str, arguments: tuple[str, ...], code: int) -> None:
    assert upgrade(spark, warehouse, *arguments) == code


def test_an_unknown_release_names_the_known_ones(
    spark: Any, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(spark, warehouse, "--target", "5.0") == 2
    assert "'5.0' in the reference data; known are 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.0.2" in capsys.readouterr().err


def test_a_warehouse_without_the_table_says_what_to_do(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(spark, str(tmp_path), "--target", "4.0.1") == 1
    assert "run `kafka-clientinfo run` first" in capsys.readouterr().err


def test_text_names_who_breaks_and_why(spark: Any, warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(spark, warehouse, "--target", "4.0.1", "--cluster", "old")
    said = capsys.readouterr().out
    assert "of 3 clients 2 would break" in said
    assert "1 cannot be judged, 0 are fine" in said
    assert "PRODUCE v2" in said
    assert "10.0.0.9" in said
    assert "held_back_by_broker: " in said
    assert "requests are from 2026-11-21 02:00 to 2026-11-21 02:00 UTC" in said
    assert not set(said) & set("\x1b\r\u202e")


def test_a_log_at_info_says_what_it_cannot_know(spark: Any, warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(spark, warehouse, "--target", "4.0.1", "--cluster", "info")
    assert "Brokers that log at INFO: info/b." in capsys.readouterr().out
    upgrade(spark, warehouse, "--target", "4.0.1", "--cluster", "new")
    assert "INFO" not in capsys.readouterr().out


def test_json_holds_everything(spark: Any, warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(spark, warehouse, "--target", "3.8.1", "--all-targets", "--cluster", "old", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["clients"] == {"removed": 0, "deprecated": 3, "ok": 0, "unknown": 0}
    assert {(row["client_id"], row["refused_from"]) for row in found["rows"]} == {
        ("app", "4.0.1"),
        (HOSTILE, "4.0.1"),
        ("held", "4.0.1"),
    }
    assert list(found["by_release"]) == list(broker_releases.releases())
    assert found["by_release"]["4.0.1"]["removed"] == 2
    (held,) = [row["marks"] for row in found["matrix"] if row["client_id"] == "held"]
    assert held == "!" * 23 + "?" * 5
    assert any("3.8.1" in sentence and "nobody tried" in sentence for sentence in found["cannot_tell"])


def test_the_matrix_is_printed(spark: Any, warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(spark, warehouse, "--all-targets")
    said = capsys.readouterr().out
    assert "0.10.0.1 to 4.4.0" in said
    assert "!" * 23 + "?" * 5 in said


# ── the reference data ──────────────────────────────────────────────────────────────────────────────────────────────


def test_advertised_and_accepted_are_kept_apart() -> None:
    kafka_4, kafka_3 = broker_releases.release("4.0.1"), broker_releases.release("3.9.1")
    assert (kafka_4.advertises(0, 2), kafka_4.accepts(0, 2)) == (True, False)
    assert (kafka_3.advertises(0, 2), kafka_3.accepts(0, 2)) == (True, True)
    assert (kafka_4.advertises(71, 0), kafka_4.accepts(71, 0)) == (None, None)
    assert (kafka_4.advertises(1, 3), kafka_4.accepts(1, 3), kafka_4.accepts(1, 2)) == (False, False, None)
    assert broker_releases.release("2.8.2").accepts(0, 9) is None


def test_each_version_of_each_release_is_judged() -> None:
    found = {(fact.target, fact.api_key, fact.api_version): fact for fact in broker_releases.facts()}
    for name, release in broker_releases.releases().items():
        for key, ends in release.apis.items():
            assert {(name, key, version) for version in range(ends.low, ends.high + 1)} <= set(found)
    assert {fact.verdict for fact in found.values()} == set(broker_releases.VERDICTS)
    assert not [f for f in found.values() if f.verdict == "removed" and f.accepted]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not the declaration"),
        ('{"release": "1.0", "tried": true, "apis": []}', "'refused'"),
        ('{"release": "1.0", "tried": true, "refused": [], "apis": [{"key": 1, "min": 2, "max": 1}]}', "order them"),
        (
            '{"release": "1", "tried": true, "refused": [], "apis": [{"key": 1, "min": 0, "max": 1, "needs": "luck"}]}',
            "'luck'; use one of",
        ),
    ],
)
def test_a_broken_declaration_is_named(text: str, says: str) -> None:
    with pytest.raises(TableSpecError, match=says):
        broker_releases.parse_release(text, "x.json")
