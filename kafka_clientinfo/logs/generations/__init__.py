"""One module per notation of the `Completed request:` record; each reads the text after these words."""
