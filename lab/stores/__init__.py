"""Stores other than S3, for each of which a server stands in."""
