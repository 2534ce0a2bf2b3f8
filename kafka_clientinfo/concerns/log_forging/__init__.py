"""Log records that clients forge inside the texts that they send."""
