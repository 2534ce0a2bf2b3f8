"""What --warehouse means: a folder, a URI or a schema."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo import cli
from kafka_clientinfo.errors import ClientInfoError, ConfigError
from kafka_clientinfo.warehouse.address import Address, address_of, check_before, local_folder

HIVE = {"spark.sql.catalogImplementation": "hive", "spark.sql.warehouse.dir": "/data/tables"}
OTHER = {"spark.sql.catalog.main": "some.Catalog"}


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    ["./warehouse", "warehouse", "2026", "a b", "a/b", "../w", ".w", "./main.kafka", "main.kafka/", "main:a.kafka"],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_folders_as_ever(in_empty_folder: Path, text: str, is_there: bool) -> None:
    if is_there:
        Path(text).mkdir(parents=True, exist_ok=True)
    address = address_of(text)
    folder = Path(os.path.normpath(in_empty_folder / text))
    assert (address.names, address.folder, address.root) == ((), folder, str(folder))
    assert address.table("requests") == f"delta.`{address.root}/requests`"
    assert address.location("requests") == f"{address.root}/requests"
    for same in (text, f"file://{folder}"):
        assert os.path.abspath(local_folder(same) or "/") == str(folder)


@pytest.mark.parametrize("before", ["", "file:"])
def test_what_is_above_a_link_is_where_the_link_leads(in_empty_folder: Path, before: str) -> None:
    """As for the system, which locks the folder and looks into it; Spark would write beside the link."""
    (in_empty_folder / "real" / "in").mkdir(parents=True)
    (in_empty_folder / "link").symlink_to("real/in")
    text = f"{before}{in_empty_folder / 'link'}/../lake" if before else "link/../lake"
    lake = in_empty_folder / "real" / "lake"
    assert (address_of(text), local_folder(text)) == (Address(str(lake)), lake)
    assert address_of("link/lake") == Address(str(in_empty_folder / "link" / "lake"))


@pytest.mark.parametrize("text", ["s3://bucket/a.b", "s3://bucket/X", "abfss://c@a/lake", "dbfs:/lake", "memory://x"])
def test_uris_as_ever(text: str) -> None:
    assert address_of(text + "/") == Address(text)
    assert local_folder(text) is None


@pytest.mark.parametrize("text", ["s3a://key:s3cret@bucket/a", "abfss://c@a/lake?sig=s3cret"])
def test_credentials_in_a_uri_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r" holds a .* a warehouse's by spark\.hadoop\.fs\.") as error:
        address_of(text)
    assert "s3cret" not in str(error.value)


SCHEMAS = {
    "main.kafka": ("main.kafka", ("main", "kafka")),
    "`main`.`kafka`": ("main.kafka", ("main", "kafka")),
    "main.client-info": ("main.`client-info`", ("main", "client-info")),
    "main.`client-info`": ("main.`client-info`", ("main", "client-info")),
    "2026_logs.k": ("2026_logs.k", ("2026_logs", "k")),
}


def test_schemas() -> None:
    for text, (root, names) in SCHEMAS.items():
        address = address_of(text)
        assert (address, address.is_schema, address.folder, local_folder(text)) == (
            Address(root, names),
            True,
            None,
            None,
        )
        assert address.table("requests") == ".".join(f"`{name}`" for name in (*names, "requests"))
        assert address.location("requests") == f"{root}.requests"


NO_NAMES = (
    *("", "`kafka`", "``", "`a", "a`.b", "`a`b`", "`a``b`", "`a`.`b`.`c`", "`a b`", "`a.b`"),
    *("`x\n`", "`${x}`", "`a\x1b`", "a.b.c", "a. b"),
    *("./a`b", "./a${b"),
)


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ClientInfoError):
        address_of(text)


@given(st.text(max_size=20), st.sampled_from(["", "./", "`"]))
def test_no_text_gets_out_of_its_quotes(text: str, before: str) -> None:
    try:
        address = address_of(before + text)
    except ClientInfoError:
        return
    assert re.fullmatch(r"(?:`[^`]+`\.){2}`requests`|delta\.`[^`]+`", address.table("requests"), re.DOTALL)
    assert "${" not in address.table("requests")


def test_a_schema_that_the_session_to_be_started_cannot_have_is_refused() -> None:
    forgets = r"forgets its tables .* \./spark_catalog.kafka for .*hive.*spark.sql.warehouse.dir"
    no_catalog = r"catalog lake, which .* does not have; .*spark.sql.catalog.lake.* \./lake.v2 for a folder"
    with pytest.raises(ConfigError, match=forgets):
        check_before("spark_catalog.kafka", {})
    with pytest.raises(ConfigError, match="forgets its tables"):
        check_before("SPARK_CATALOG.kafka", {"spark.sql.catalogImplementation": "hive"})
    with pytest.raises(ConfigError, match=no_catalog):
        check_before("lake.v2", HIVE)
    check_before("spark_catalog.kafka", HIVE)
    check_before("main.kafka", OTHER)


@pytest.mark.parametrize("command", ["run .", "build", "violations"])
def test_commands_refuse_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr("kafka_clientinfo.spark.session.local_session", None)
    assert cli.main([*command.split(), "--warehouse", "main.kafka"]) == cli.USAGE
    assert "write ./main.kafka for a folder" in capsys.readouterr().err
