"""How tests call a command in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo import cli


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
