"""Log records that clients forge inside the texts they send."""
