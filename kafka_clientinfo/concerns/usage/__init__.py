"""The API versions that clients use, and which clients an upgrade of brokers would break (KIP-35, KIP-896)."""
