"""Spark sessions and what they allow: jars, Java, conf, rows in memory, failures; knows no warehouse."""
