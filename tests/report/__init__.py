"""Tests of the report: what it reads, what it writes, and what a browser makes of it."""
