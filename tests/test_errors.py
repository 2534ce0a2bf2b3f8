"""What is said of a module that is not installed."""

import pytest

from kafka_clientinfo.errors import missing_extra

SPARK = ("local", "Spark, Delta and pandas, for a machine where no platform does")
TABLES = ("answers", "what reads tables without Spark")
BRINGS = {"pyspark": SPARK, "delta.tables": SPARK, "duckdb": TABLES, "deltalake": TABLES}
BRINGS |= {
    "shtab": ("answers", "what completes commands in a shell"),
    "vl_convert": ("report", "what draws the report's plots"),
}


@pytest.mark.parametrize("module", [*BRINGS, "numpy"])
def test_a_module_that_is_missing_names_the_extra_that_brings_it(module: str) -> None:
    extra, brings = BRINGS.get(module, (None, None))
    how = f"pip install '.[{extra}]' (in a clone; with a wheel, 'FILE.whl[{extra}]')"
    said = extra and f"the Python module {module.partition('.')[0]} is not installed; {how} brings {brings}"
    assert missing_extra(ModuleNotFoundError(name=module)) == said
    assert missing_extra(ImportError(name=module)) is missing_extra(ModuleNotFoundError()) is None
