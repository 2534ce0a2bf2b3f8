"""Declarations of the Delta tables, of the views, and of what releases and libraries speak; no Spark."""
