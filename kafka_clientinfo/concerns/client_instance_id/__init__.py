"""KIP-1313's client instance id: on every request from the first one with header v3 on, and the same on all that follow."""
