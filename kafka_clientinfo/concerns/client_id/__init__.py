"""Client ids by KIP-1313: the id of a connection's first request, which later requests repeat or leave out."""
