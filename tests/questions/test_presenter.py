"""The words for clients and verdicts that commands, messages and the report share."""

import pytest

from kafka_clientinfo.questions.presenter import identity, rows, verdicts
from kafka_clientinfo.releases.broker_releases import ACCEPTED, DEPRECATED, REFUSED, UNDECIDED


@pytest.mark.parametrize(
    ("numbers", "breaking", "sentence"),
    [
        ((4, 0, 0, 82), "4", "4 would break; 0 would work, but not later; 0 cannot be judged; 82 are fine"),
        (
            (1, 1200, 3, 0),
            "1 client",
            "1 client would break; 1,200 would work, but not later; 3 cannot be judged; 0 are fine",
        ),
    ],
)
def test_the_clients_of_each_verdict_are_set_apart(numbers: tuple[int, ...], breaking: str, sentence: str) -> None:
    by_verdict = dict(zip((REFUSED, DEPRECATED, UNDECIDED, ACCEPTED), numbers, strict=True))
    assert verdicts(by_verdict, breaking) == sentence


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (1200, "1,200 rows")])
def test_rows_are_counted(number: int, text: str) -> None:
    assert rows(number) == text


@pytest.mark.parametrize(("text", "shown"), [(None, "(none)"), ("", "(empty)"), ("app", "app"), (" ", " ")])
def test_a_missing_name_differs_from_an_empty_one(text: str | None, shown: str) -> None:
    assert identity(text) == shown
