"""The command line: exit codes, and text that is safe to print; what each step prints is in test_pipeline."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli

ROOT = Path(__file__).resolve().parent.parent
LOG = str(ROOT / "sample_logs" / "kafka-0.8.2.2" / "kafka-request.log")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "required"),
        (["dance"], 2, "invalid choice"),
        (["run", LOG], 2, "--warehouse"),
        (["run", LOG, "--warehouse", "w", "--conf", "/nonesuch.toml"], 2, "cannot read the configuration"),
        (["run", "/nonesuch", "--warehouse", "w"], 1, "/nonesuch: no such file"),
        (["--version"], 0, ""),
    ],
)
def test_exit_codes(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments, spark) == code
    assert says in capsys.readouterr().err


def test_a_hostile_path_is_printed_harmlessly(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "/no\x1b[2Jsuch", "--warehouse", str(tmp_path / "w")], spark) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_file_that_cannot_be_read_fails_the_run_and_not_the_others(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "kafka-request.log").write_bytes(Path(LOG).read_bytes()[:20000])
    (folder / "kafka-request.log.1").write_bytes(b"\x1f\x8b\x08broken")
    assert cli.main(["ingest", str(folder), "--warehouse", str(tmp_path / "w")], spark) == 1
    said = capsys.readouterr().out
    assert "unreadable" in said
    assert "Read 1 files" in said


@pytest.mark.parametrize("job", ["run_pipeline", "ingest_requests", "build_tables"])
def test_the_jobs_explain_themselves(job: str) -> None:
    text = (ROOT / "jobs" / f"{job}.py").read_text("utf-8")
    assert len(text.splitlines()) <= 40
    assert text.startswith('"""spark-submit')


@pytest.mark.parametrize("module", ["protocol", "logs", "tables", "settings"])
def test_parser_and_declarations_import_without_spark(module: str) -> None:
    program = (
        "import sys\n"
        "for name in ('pyspark', 'delta', 'pyarrow', 'pandas'): sys.modules[name] = None\n"
        f"import kafka_clientinfo.{module}"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_the_public_names_exist() -> None:
    import kafka_clientinfo

    assert all(getattr(kafka_clientinfo, name) is not None for name in kafka_clientinfo.__all__)
    with pytest.raises(AttributeError, match="nonesuch"):
        kafka_clientinfo.nonesuch  # noqa: B018
