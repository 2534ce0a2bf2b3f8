"""Cases that run as one test all run, and those that fail are named."""

import pytest

from tests.together import _all_of

seen: list[int] = []


def case(number: int) -> None:
    seen.append(number)
    if number == 0:
        pytest.skip("zero")
    assert number != 1
    if number == 2:
        pytest.fail("two")


def run(*numbers: int) -> None:
    seen.clear()
    _all_of(case, [(f"case {number}", {"number": number}) for number in numbers])()
    assert seen == list(numbers)


def test_a_case_that_fails_keeps_no_other_from_running() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail") as failed:
        run(0, 1, 2, 3)
    assert [error.__notes__ for error in failed.value.exceptions] == [
        ["in the case [case 1]"],
        ["in the case [case 2]"],
    ]
    assert seen == [0, 1, 2, 3]
    with pytest.raises(AssertionError) as one:
        run(1, 3)
    assert (one.value.__notes__, seen) == (["in the case [case 1]"], [1, 3])


def test_cases_are_skipped_if_all_are() -> None:
    run(0, 3)
    with pytest.raises(pytest.skip.Exception, match="zero"):
        run(0, 0)
