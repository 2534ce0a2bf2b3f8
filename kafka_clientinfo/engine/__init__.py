"""The engine: the state of a warehouse, how its tables are written, and what a build recomputes.

It knows requests and connections, from which everything is derived, but no concern. Imports go down:
    verification > spark_tables, maintenance > retention > warehouse > claims, writing, rewriting, creation > state > sql
    verification > checks > answers
    increments > keeping > locks, sizing > abilities
    reading > duckdb_tables (which needs no session) > answers > state
"""
