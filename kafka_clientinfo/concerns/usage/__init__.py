"""Which versions of each API are used, and what upgrades mean for whoever uses them (KIP-35, KIP-896)."""
