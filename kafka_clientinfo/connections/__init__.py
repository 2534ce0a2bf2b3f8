"""Requests to connections: boundaries, the judged requests, the table of connections, and violations."""
