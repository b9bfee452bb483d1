"""Spark: the session, its jars and Java, schemas, errors."""
