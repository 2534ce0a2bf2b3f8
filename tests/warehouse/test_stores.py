"""Where pyarrow looks for what Spark has written."""

import pytest

from kafka_clientinfo.warehouse import stores


@pytest.mark.parametrize("name", ["w", "a b", "a%20b", "a%2520b", "ü", "a?b=c", "a#b", "50%", "(a)+'b',c=d;e&f!$"])
def test_a_path_in_a_store_is_the_one_that_spark_writes_to(name: str) -> None:
    """Else the leftovers of another warehouse would be removed."""
    assert stores.store_of(f"gs://lake/{name}/t")[1] == f"lake/{name}/t"
    assert stores.store_of(f"abfss://box@lake.dfs.core.windows.net/{name}")[1] == f"box/{name}"
