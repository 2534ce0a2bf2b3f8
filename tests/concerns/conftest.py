"""What a concern's tests share: all CASES of a module are judged at once, when the first test asks for them."""

from typing import Any

import pytest

from .cases import Judged, judge


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest, rules_session: Any) -> Judged:
    """The module's CASES (name to Case), judged by its folder's concern and by its SETTINGS."""
    return judge(
        rules_session, request.module.CASES, request.path.parent.name, getattr(request.module, "SETTINGS", None)
    )
