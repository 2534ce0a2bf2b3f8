"""A run: reading new bytes of logs, the steps of a build, and what an increment recomputes."""
