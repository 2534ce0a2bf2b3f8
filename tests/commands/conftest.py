"""How tests call a command in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo import cli
from tests.commands.fleet_on_disk import fleet


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def words(self) -> str:
        """What is printed, without its lines."""
        return " ".join(self.out.split())


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Return a function that calls the command with words, paths among them."""

    def call(*words: object) -> Answer:
        capsys.readouterr()
        code = cli.main(list(map(str, words)))
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the connections USES of a module, and of its FAILURES."""
    module: Any = request.module
    return fleet(tmp_path_factory.mktemp("fleet") / "w", module.USES, failures=getattr(module, "FAILURES", ()))
