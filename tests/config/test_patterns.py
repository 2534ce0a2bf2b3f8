import pytest

from kafka_clientinfo.config.toml_files import checked_pattern
from kafka_clientinfo.errors import ConfigError


@pytest.mark.parametrize("pattern", ["(a", "a**", "a{4294967296}"])
def test_it_refuses_what_does_not_compile_and_names_it(pattern: str) -> None:
    with pytest.raises(ConfigError) as refused:
        checked_pattern(pattern, "policy.toml: client_id_patterns")
    assert str(refused.value).startswith(f"policy.toml: client_id_patterns: {pattern!r} is no regular expression: ")


def test_it_takes_every_pattern_that_compiles() -> None:
    for pattern in ("", "^team-[a-z]+(-[a-z]+)*$", "(?i)tool-.*"):
        checked_pattern(pattern, "x")
