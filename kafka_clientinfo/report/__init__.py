"""The report: one HTML page about a warehouse, which loads no other file and needs no network."""
