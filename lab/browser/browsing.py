"""A headless Chromium, and pages in it that note what goes wrong and what would leave them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
_QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; raises ImportError without playwright, and its own error without Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        yield browser
        browser.close()


class Watched:
    """A page with a file, and what it complained of and asked for.

    Attributes:
        complaints: messages of the console and uncaught errors.
        requests: addresses but its own.
    """

    def __init__(self, browser: Any, file: Path, **given: Any) -> None:
        """Open the file."""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | given))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#clients-table tbody tr", timeout=60_000)
        self.requests.remove(file.as_uri())
