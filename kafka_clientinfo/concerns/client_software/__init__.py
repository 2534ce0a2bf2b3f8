"""The software that each connection states (KIP-511), the reason why it is unknown, and the policy for clients."""
