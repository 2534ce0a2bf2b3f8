"""KIP-1313's caching of client ids: the client id of a connection's first request, and what came after it."""
