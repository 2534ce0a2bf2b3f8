"""Declarations of Delta tables and views, and the API versions of broker releases and client libraries; no Spark."""
