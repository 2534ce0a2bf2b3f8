"""Requests and logins that a broker refused, which only its server.log shows."""
