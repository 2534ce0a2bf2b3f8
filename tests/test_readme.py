"""The README's queries run on the sample warehouse and find something."""

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.tables import table_specs

ROOT = Path(__file__).resolve().parent.parent
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def views(spark: Any, sample_warehouse: Path) -> Any:
    for name in table_specs():
        spark.read.format("delta").load(str(sample_warehouse / name)).createOrReplaceTempView(name)
    return spark


def test_there_is_a_query_for_each_question() -> None:
    assert len(QUERIES) == 7


@pytest.mark.parametrize("number", range(1, 8))
def test_a_query_of_the_readme_answers(views: Any, number: int) -> None:
    assert views.sql(QUERIES[number - 1]).limit(1).count() == 1


def test_the_readme_names_every_table() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in table_specs() if f"| `{name}` |" not in text] == []
