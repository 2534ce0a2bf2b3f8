"""The report: one HTML page about a warehouse, which reads no file and no network but itself."""
