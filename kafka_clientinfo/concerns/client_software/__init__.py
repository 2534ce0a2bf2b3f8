"""Which software each connection runs, by its own word (KIP-511), why a client is unknown, and the policy for clients."""
