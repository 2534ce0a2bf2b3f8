"""What runs the pipeline's steps: so far the local Spark session, and what makes it start fast."""
