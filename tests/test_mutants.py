"""The mutants that are known to survive; `make mutants` makes the others."""

from lab.mutants.explained import explanations


def test_every_explanation_is_of_a_line_that_is_there() -> None:
    assert len({(one.file, one.before, one.after, one.part) for one in explanations()}) == len(explanations()) > 100
