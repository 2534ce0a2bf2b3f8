"""KIP-559: which group messages can be read on their own, and which protocol types and names members use."""
