"""Tables about the whole fleet: who uses a cluster, and how many connections each software holds open (KIP-511)."""
