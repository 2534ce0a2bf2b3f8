"""Takes the picture of the report for the README: `python -m lab.browser.picture WAREHOUSE FILE.png`."""

import sys
import tempfile
from pathlib import Path

from PIL import Image

from kafka_clientinfo import cli

from .browsing import Watched, chromium

SIZE = {"width": 1280, "height": 860}


def take(warehouse: str, file: Path) -> None:
    """Take the top of the page."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page, shot = Path(folder) / "report.html", Path(folder) / "report.png"
        if code := cli.main(["report", "--warehouse", warehouse, "--output", str(page), "--target", "4.0.1"]):
            sys.exit(code)
        Watched(browser, page, viewport=SIZE, device_scale_factor=1.5).page.screenshot(path=shot)
        Image.open(shot).convert("RGB").save(file, optimize=True)


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]))
