"""The page that tests/report reads as text."""

from tests.report.conftest import hostile_page, hostile_warehouse

__all__ = ["hostile_page", "hostile_warehouse"]
