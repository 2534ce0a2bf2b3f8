"""Prints how a role went, in the form that all programs of this folder share."""

from __future__ import annotations  # releases that are measured may need Python 3.8

import json
from collections.abc import Callable

MESSAGES = 50
PATIENCE = 40.0
STAY = 2.0  # seconds in a group, so that a consumer sends heartbeats


def did(role: str, client_id: str, work: Callable[[], object]) -> None:
    """Run a role; print its name, the client id that it used and what went wrong, as one line of JSON."""
    error = None
    try:
        work()
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    print(json.dumps({"role": role, "client_id": client_id, "error": error}), flush=True)
