"""The fleet as a whole: who uses a cluster, and how many connections each software holds open (KIP-511)."""
