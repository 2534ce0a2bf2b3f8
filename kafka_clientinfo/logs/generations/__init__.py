"""One module per generation of the `Completed request:` record; each reads the text behind that marker."""
