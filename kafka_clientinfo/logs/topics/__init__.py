"""What the bodies of requests and responses say of topics."""
