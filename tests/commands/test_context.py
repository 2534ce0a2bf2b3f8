"""What the commands share: the log of a session is kept only for the run that failed."""

from argparse import Namespace
from pathlib import Path

import pytest

from kafka_clientinfo.commands.context import Context


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "removed by another program"])
def test_the_log_of_a_session_that_went_well_is_gone(tmp_path: Path, is_there: bool) -> None:
    """Programs that tidy the folder of temporary files may come first, and what has succeeded must not fail of it."""
    context = Context(Namespace())
    context.spark_log = tmp_path / "spark.log"
    if is_there:
        context.spark_log.write_text("WARN ...")
    context.forget_spark_log()
    assert list(tmp_path.iterdir()) == []
