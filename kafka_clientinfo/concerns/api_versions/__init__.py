"""How each connection negotiates its versions: KIP-35's request, KIP-511's fallback."""
