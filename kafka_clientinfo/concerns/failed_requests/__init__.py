"""Requests and logins that a broker refused: they stand in its server.log only."""
