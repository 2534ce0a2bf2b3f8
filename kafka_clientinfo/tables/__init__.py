"""Declarations of Delta tables and views; no Spark.

The columns stand in schemas/tables, the statements of the views in schemas/views. `spec` and `views` read them.
"""
