"""What releases of brokers accept and what client libraries speak, as measured."""
