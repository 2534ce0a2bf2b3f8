"""Group protocols (KIP-559): which group messages state their protocol type, and which types and names members use."""
