"""Questions to a warehouse: the same SQL on DuckDB and on Spark, what is asked for, and the checks of verify."""
