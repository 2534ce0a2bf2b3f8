"""What is said of a module that is not installed."""

import pytest

from kafka_clientinfo.errors import missing_extra


@pytest.mark.parametrize(
    ("module", "extra", "brings"),
    [
        ("pyspark", "local", "Spark, Delta and pandas, for a machine where no platform does"),
        ("delta.tables", "local", "Spark, Delta and pandas, for a machine where no platform does"),
        ("duckdb", "answers", "what reads tables without Spark"),
        ("deltalake", "answers", "what reads tables without Spark"),
        ("shtab", "answers", "what completes commands in a shell"),
        ("vl_convert", "report", "what draws the report's plots"),
        ("numpy", None, None),
    ],
)
def test_a_module_that_is_missing_names_the_extra_that_brings_it(
    module: str, extra: str | None, brings: str | None
) -> None:
    name = module.partition(".")[0]
    how = f"pip install '.[{extra}]' (in a clone; with a wheel, 'FILE.whl[{extra}]')"
    said = extra and f"the Python module {name} is not installed; {how} brings {brings}"
    assert missing_extra(ModuleNotFoundError(name=module)) == said
    assert missing_extra(ImportError(name=module)) is None
    assert missing_extra(ModuleNotFoundError()) is None
