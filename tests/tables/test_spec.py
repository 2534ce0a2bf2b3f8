"""Declarations: complete, checked when they are read, and the documentation follows from them."""

from pathlib import Path

import pytest

from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables import SESSION_KEY, parse_spec, rules, table_spec, table_specs
from kafka_clientinfo.tables.docs import markdown
from kafka_clientinfo.tables.rules import parse_rules

ROOT = Path(__file__).resolve().parents[2]
COLUMN = '[[columns]]\nname = "a"\ntype = "string"\ncomment = "A"\n'
TABLE = 'name = "t"\ncomment = "T"\nreplaced = "whole"\nkey = ["a"]\ncluster_by = ["a"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "not valid TOML"),
        (TABLE + 'colour = "red"\n' + COLUMN, "unknown property 'colour'"),
        (TABLE.replace('comment = "T"\n', "") + COLUMN, "comment is None"),
        (TABLE.replace('"a"]', '"b"]') + COLUMN, "name declared columns"),
        (TABLE.replace('cluster_by = ["a"]', "cluster_by = []") + COLUMN, "cluster_by is []"),
        (TABLE.replace('"whole"', '"sometimes"') + COLUMN, "replaced is 'sometimes'"),
        (TABLE + COLUMN + COLUMN, "column a is declared twice"),
        (TABLE + COLUMN.replace("string", "varchar"), "type 'varchar'"),
        (TABLE.replace("cluster_by", 'per = "session"\ncluster_by').replace('["a"]', str(list("abcde"))), "declared"),
    ],
)
def test_it_names_the_file_and_the_fault(text: str, says: str) -> None:
    with pytest.raises(TableSpecError, match=says.replace("[", r"\[").replace("]", r"\]")) as caught:
        parse_spec(text, "schemas/tables/t.toml")
    assert str(caught.value).startswith("schemas/tables/t.toml")


def test_it_refuses_more_clustering_columns_than_delta_takes() -> None:
    columns = "".join(COLUMN.replace('"a"', f'"{name}"') for name in "abcde")
    with pytest.raises(TableSpecError, match="at most 4"):
        parse_spec(TABLE.replace('cluster_by = ["a"]', 'cluster_by = ["a","b","c","d","e"]') + columns, "t")


def test_it_gives_per_session_tables_the_session_key() -> None:
    spec = parse_spec('per = "session"\n' + TABLE + COLUMN, "t")
    assert spec.column_names == (*SESSION_KEY, "a")
    assert spec.ddl.startswith("`cluster` string NOT NULL, ")
    assert spec.ddl.endswith("`a` string")


def test_every_declared_table_loads_under_its_own_name() -> None:
    assert {path.stem for path in (ROOT / "schemas" / "tables").glob("*.toml")} == set(table_specs())
    assert table_spec("requests").key == ("file_id", "byte_offset")


def test_it_lists_the_known_tables_for_an_unknown_one() -> None:
    with pytest.raises(TableSpecError, match="known are api_"):
        table_spec("nonesuch")


def test_every_column_says_what_it_means() -> None:
    short = [(s.name, c.name) for s in table_specs().values() for c in s.columns if len(c.comment) < 4]
    assert short == []


def test_the_documentation_is_up_to_date() -> None:
    assert (ROOT / "schemas" / "tables.md").read_text("utf-8") == markdown(), "run `make docs`"


def test_every_rule_says_what_it_asks_and_what_to_do() -> None:
    assert len(rules()) >= 10
    assert all(rule.what and rule.asks and rule.advice for rule in rules().values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[r]\nkip = ""\nseverity = "error"\nwhat = "w"\nasks = "a"\n', "rule r: 'advice' is missing"),
        ('[r]\nkip = ""\nseverity = "bad"\nwhat = "w"\nasks = "a"\nadvice = "v"\n', "severity is 'bad'"),
    ],
)
def test_it_refuses_a_rule_that_is_not_whole(text: str, says: str) -> None:
    with pytest.raises(TableSpecError, match=says):
        parse_rules(text, "rules.toml")
