"""Client instance ids (KIP-1313): every request after the first one with header v3 must carry the same id."""
