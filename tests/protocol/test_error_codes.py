"""Names of error codes; tests/protocol/java compares all of them with Kafka's own."""

import pytest

from kafka_clientinfo.protocol.api_keys import ErrorCode, errors, named_error


@pytest.mark.parametrize("code", ErrorCode)
def it_has_the_names_that_the_rules_use(code: ErrorCode) -> None:
    assert errors()[code].name == code.name


def it_has_one_name_for_each_code_in_their_order() -> None:
    assert list(errors()) == [-1, *range(len(errors()) - 1)]
    assert len({error.name for error in errors().values()}) == len(errors())


@pytest.mark.parametrize(
    ("code", "text"), [(35, "35 UNSUPPORTED_VERSION"), (-1, "-1 UNKNOWN_SERVER_ERROR"), (9999, "9999"), (None, None)]
)
def it_names_a_code_and_leaves_one_without_a_name(code: int | None, text: str | None) -> None:
    assert named_error(code) == text
