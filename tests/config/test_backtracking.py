"""Which patterns of a policy may see what clients wrote; the Java that they run on is asked in the concern's tests."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.config.backtracking import why_refused

ALLOWED = (
    "",
    "tool-.*",
    r"team-[a-z]+\..+",
    "([a-z0-9]|-)+",
    "[a-z]+(-[a-z]+)*",
    "(-[a-z]+){0,9}",
    r"[^-.]+(-[^-.]+)*",
    "(ab|ac|b)+",
    "(?:[a-z]+[0-9]+)+",
    "(?!test-).*",
    r"[\w_]+",
    "(a|A)+",
    "(?s:.)+?",
    r"(\d|-|é|ж)+",
    "|".join(f"team{number}-[a-z]+" for number in range(50)),
)
REFUSED = {
    "(a+)+$": "repeats a repetition",
    "(a?)+": "repeats what can be empty",
    "(a?){30}": "repeats what can be empty",
    "(a|a)*": "more than one can be empty",
    "(.|a)*": "can repeat the same text in two ways",
    r"(\d|\w)+": "can repeat the same text in two ways",
    "(?i)(a|A)+": "can repeat the same text in two ways",
    "(ab|a|b)+": "can repeat the same text in two ways",
    "(ж|é|ц)+": "can repeat the same text in two ways",
    "(x+x+)+y": "can repeat the same text in two ways",
    "(ab|ab)+": "more than one can be empty",
    "(?!(a+)+b).*": "repeats a repetition",
    r"(a)\1": "refers back to a group",
    "((((((a))))))": "more than 5 groups inside each other",
    "a" * 1001: "more than 1000 characters",
}


@pytest.mark.parametrize("pattern", ALLOWED)
def test_these_may_see_any_text(pattern: str) -> None:
    assert why_refused(pattern) is None


@pytest.mark.parametrize("pattern", REFUSED)
def test_these_may_not(pattern: str) -> None:
    assert REFUSED[pattern] in str(why_refused(pattern))


def repetitions(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda several: f"(?:{'|'.join(several)})"),
        st.tuples(parts, st.sampled_from("?*+")).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


def ways(pattern: str, text: str) -> int:
    """In how many ways a pattern matches a text, counted by trying all of them as an engine that backtracks does."""
    from re import _constants as codes
    from re import _parser

    def ends(items: list, at: int) -> list[int]:
        if not items:
            return [at]
        (code, value), rest = items[0], items[1:]
        if code is codes.LITERAL:
            starts = [at + 1] if text[at : at + 1] == chr(value) else []
        elif code is codes.SUBPATTERN:
            starts = ends(list(value[3]), at)
        elif code is codes.BRANCH:
            starts = [end for branch in value[1] for end in ends(list(branch), at)]
        elif code is codes.IN:
            starts = [end for item in value for end in ends([item], at)]
        else:
            low, high, body = value
            starts, last = ([at] if low == 0 else []), [at]
            for _ in range(min(int(high), len(text) + 1)):
                last = [end for start in last for end in ends(list(body), start) if end > start or low == 1]
                starts += last
                last = [end for end in last if end > at]
        return [end for start in starts for end in ends(rest, start)]

    return ends(list(_parser.parse(pattern)), 0).count(len(text))


@pytest.mark.parametrize("unit", ["a", "ab", "aab"])
@given(pattern=st.recursive(st.sampled_from(["a", "b", "ab"]), repetitions, max_leaves=4))
def test_what_is_allowed_matches_long_texts_in_few_ways(unit: str, pattern: str) -> None:
    """Three times the text makes 3**4 times the ways at most: four parts can be repeated. Else it were 2**8 at least."""
    if why_refused(pattern) is None:
        assert re.compile(pattern)
        short, long = (ways(pattern, unit * (length // len(unit))) for length in (12, 36))
        assert long <= 3**4 * short or not short
