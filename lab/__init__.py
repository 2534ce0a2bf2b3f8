"""What takes hours or needs more than this repository: see README.md."""
